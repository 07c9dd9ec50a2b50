# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compiles TFF computations for the runtimes of this package.

Compilation follows TFF's native context, but without the Grappler pass, which
takes seconds for an ordinary network and brings no measurable speedup.
"""

from collections.abc import Iterator
import contextlib
import threading

import tensorflow_federated as tff

from tff_semifl import private_api

_lock = threading.RLock()


@contextlib.contextmanager
def equal_types_once() -> Iterator[None]:
  """Makes TFF deserialize equal types of a computation only once.

  Each part of a serialized computation has a type, mostly the type of the whole
  state. For an ordinary network, deserializing all of these types takes a
  second, nearly all of the time to compile a round. Only one thread at a time
  can be in the `with` block.
  """
  with _lock:
    serialization = private_api.type_serialization
    read = serialization.deserialize_type
    types = {}

    # TFF also calls this function for the parts of a type.
    def read_once(proto):
      key = proto.SerializeToString(deterministic=True)
      if key not in types:
        types[key] = read(proto)
      return types[key]

    serialization.deserialize_type = read_once
    try:
      yield
    finally:
      serialization.deserialize_type = read


@equal_types_once()
def compile_to_block(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ComputationBuildingBlock:
  """Reduces a computation to calls of TensorFlow and a few intrinsics."""
  # TFF would serialize the block here, which takes a second for an ordinary
  # network.
  block = tff.framework.to_call_dominant(_replace_intrinsics(computation))
  return private_api.disable_grappler(block)[0]


@equal_types_once()
def compile_computation(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ConcreteComputation:
  """Compiles a computation for a worker, which caches TensorFlow code by id."""
  return tff.backends.native.transform_to_native_form(
    tff.framework.ConcreteComputation.from_building_block(
      _replace_intrinsics(computation)
    )
  )


def _replace_intrinsics(computation):
  """Replaces means, sums and other intrinsics by `federated_aggregate`."""
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(
    computation.to_building_block()
  )
  return block
