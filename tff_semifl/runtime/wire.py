# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Values as they travel between processes: TFF's `Value` messages.

Both ends use this, and TFF's own ends understand it. Beyond what TFF's Python
functions do, a value at zero clients can be received.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2
from tensorflow_federated.proto.v0 import executor_pb2

from tff_semifl.runtime import values

# Of a computation in a message: its value here, and its type.
DecodeComputation = Callable[
  [computation_pb2.Computation], tuple[Any, tff.Type]
]


def encode(value: Any, value_type: tff.Type) -> executor_pb2.Value:
  """Converts a value of the runtime to a message.

  Args:
    value: The value, see `values`.
    value_type: Its type.

  Returns:
    The message.

  Raises:
    TypeError: Values of this type cannot be sent.
    ValueError: A dataset is larger than the 100 MB that TFF allows.
  """
  message, _ = tff.framework.serialize_value(
    values.extract(value, value_type), value_type
  )
  return message


def decode(
  message: executor_pb2.Value,
  value_type: tff.Type | None = None,
  decode_computation: DecodeComputation | None = None,
) -> tuple[Any, tff.Type]:
  """Converts a message to a value of the runtime.

  Args:
    message: The message.
    value_type: The type of the value, if it is known. It restores what messages
      lose: Python containers, and with TFF's worker whether clients have equal
      values.
    decode_computation: What to do with computations; without it they are
      refused.

  Returns:
    The value, see `values`, and its type.

  Raises:
    TypeError: The message has a computation or nothing in it.
  """
  kind = message.WhichOneof('value')
  if kind == 'struct':
    return _decode_struct(message.struct, value_type, decode_computation)
  if kind == 'federated':
    return _decode_federated(message.federated, value_type)
  if kind in ('array', 'sequence'):
    # Whatever the device of the computation is, a message is on the CPU.
    with tf.device('CPU'):
      value, found_type = tff.framework.deserialize_value(message, value_type)
      value_type = value_type or found_type
      return values.embed(value, value_type), value_type
  if kind == 'computation' and decode_computation is not None:
    return decode_computation(message.computation)
  raise TypeError(f'A message with a value of kind {kind!r} cannot be read.')


def at_server(
  message: executor_pb2.Value, member_type: tff.Type
) -> executor_pb2.Value:
  """Returns the message of the same value, placed at the server.

  Args:
    message: A value without a place, or at the server.
    member_type: The type of the value without a place.
  """
  if message.WhichOneof('value') == 'federated':
    [message] = message.federated.value
  placed_type = tff.FederatedType(member_type, tff.SERVER)
  return executor_pb2.Value(
    federated=executor_pb2.Value.Federated(
      value=[message], type=tff.types.serialize_type(placed_type).federated
    )
  )


def _decode_struct(struct, value_type, decode_computation):
  hints = value_type or [None] * len(struct.element)
  parts, types = [], []
  for element, hint in zip(struct.element, hints, strict=True):
    part, part_type = decode(element.value, hint, decode_computation)
    parts.append(part)
    types.append((element.name, part_type) if element.name else part_type)
  return parts, value_type or tff.StructType(types)


def _decode_federated(federated, value_type):
  if value_type is None:
    value_type = tff.types.deserialize_type(
      computation_pb2.Type(federated=federated.type)
    )
  # TFF's worker sends an equal value once for each client.
  messages = federated.value[:1] if value_type.all_equal else federated.value
  members = tuple(decode(message, value_type.member)[0] for message in messages)
  if not value_type.all_equal:
    return members, value_type
  if not members:
    raise TypeError(f'A value of type {value_type} is not in its message.')
  if value_type.placement is tff.CLIENTS:
    return values.AllEqual(members[0]), value_type
  return members[0], value_type
