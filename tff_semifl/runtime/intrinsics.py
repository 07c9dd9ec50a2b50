# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Implementations of TFF's intrinsics in this process.

Each function takes the cohort, the argument of the intrinsic and its type.
Compilation reduces all other intrinsics to aggregations.
"""

from collections.abc import Callable
import operator
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import values

_SECURE_SUM_HINT = (
  'There is no secure aggregation in a simulation. To compute the same '
  'number in the clear, compile with '
  '`tff.backends.test.replace_secure_intrinsics_with_bodies` first, or '
  'pass an aggregator that is not secure.'
)
# Intrinsics that a simulation does not have, with what to use instead.
REFUSED = {
  'federated_secure_modular_sum': _SECURE_SUM_HINT,
  'federated_secure_select': 'Use `tff.federated_select` in a simulation.',
  'federated_secure_sum': _SECURE_SUM_HINT,
  'federated_secure_sum_bitwidth': _SECURE_SUM_HINT,
}


def get_intrinsic(uri: str) -> Callable[[cohorts.Cohort, Any, tff.Type], Any]:
  """The function of cohort, argument and type that implements an intrinsic."""
  if uri not in _INTRINSICS:
    hint = REFUSED.get(uri, 'It is not known to this runtime.')
    raise NotImplementedError(f'`{uri}` cannot be run. {hint}')
  return _INTRINSICS[uri]


def _aggregate(cohort, argument, intrinsic_type):
  """Accumulates in the order of the clients."""
  del intrinsic_type
  value, total, accumulate, _, report = argument
  for client, member in enumerate(cohort.members(value)):
    total = cohort.run_for(client, accumulate, [total, member])
  return report(total)


def _apply(cohort, argument, intrinsic_type):
  del cohort, intrinsic_type
  fn, value = argument
  return fn(value)


def _at_clients(cohort, argument, intrinsic_type):
  del cohort, intrinsic_type
  return values.AllEqual(argument)


def _at_server(cohort, argument, intrinsic_type):
  del cohort, intrinsic_type
  return argument


def _eval_at_clients(cohort, argument, intrinsic_type):
  del intrinsic_type
  return cohort.map(argument, values.AllEqual(None))


def _eval_at_server(cohort, argument, intrinsic_type):
  del cohort, intrinsic_type
  return argument(None)


def _map(cohort, argument, intrinsic_type):
  del intrinsic_type
  fn, value = argument
  return cohort.map(fn, value)


def _map_all_equal(cohort, argument, intrinsic_type):
  del cohort, intrinsic_type
  fn, value = argument
  return values.AllEqual(fn(value.member))


def _select(cohort, argument, intrinsic_type):
  """The dataset of slices that each client's keys select."""
  keys, _, server_value, select_fn = argument
  element_type = intrinsic_type.result.member.element
  spec = values.to_element_spec(element_type)

  def stack(tensor_spec, *tensors):
    if tensors:
      return tf.stack(tensors)
    shape = [0, *(size or 0 for size in tensor_spec.shape)]
    return tf.zeros(shape, tensor_spec.dtype)

  def select(client_keys):
    elements = [
      values.to_element(select_fn([server_value, key]), element_type)
      for key in client_keys
    ]
    return tf.data.experimental.to_variant(
      tf.data.Dataset.from_tensor_slices(
        tf.nest.map_structure(stack, spec, *elements)
      )
    )

  return cohort.map(select, keys)


def _sequence_map(cohort, argument, intrinsic_type):
  del cohort
  fn, sequence = argument
  element_type = intrinsic_type.parameter[1].element
  result_type = intrinsic_type.result.element
  # `tf.data` unpacks a tuple into arguments.
  is_tuple = isinstance(element_type, tff.StructType) and not dir(element_type)

  def map_fn(*parts):
    element = values.embed(parts if is_tuple else parts[0], element_type)
    return values.to_element(fn(element), result_type)

  dataset = values.to_dataset(sequence, element_type)
  return tf.data.experimental.to_variant(dataset.map(map_fn))


def _sequence_reduce(cohort, argument, intrinsic_type):
  del cohort
  sequence, total, reduce_fn = argument
  element_type = intrinsic_type.parameter[0].element
  for element in values.to_dataset(sequence, element_type):
    total = reduce_fn([total, values.embed(element, element_type)])
  return total


def _sequence_sum(cohort, argument, intrinsic_type):
  del cohort
  element_type = intrinsic_type.result
  spec = values.to_element_spec(element_type)
  total = tf.nest.map_structure(lambda s: tf.zeros(s.shape, s.dtype), spec)
  for element in values.to_dataset(argument, element_type):
    total = tf.nest.map_structure(tf.add, total, element)
  return values.embed(total, element_type)


def _zip_at_clients(cohort, argument, intrinsic_type):
  del intrinsic_type
  members = _map_struct(cohort.members, argument)
  return tuple(
    _map_struct(operator.itemgetter(client), members)
    for client in range(cohort.size)
  )


def _map_struct(fn, value):
  if isinstance(value, list):
    return [_map_struct(fn, part) for part in value]
  return fn(value)


_INTRINSICS = {
  'federated_aggregate': _aggregate,
  'federated_apply': _apply,
  'federated_broadcast': _at_clients,
  'federated_eval_at_clients': _eval_at_clients,
  'federated_eval_at_server': _eval_at_server,
  'federated_map': _map,
  'federated_map_all_equal': _map_all_equal,
  'federated_select': _select,
  'federated_value_at_clients': _at_clients,
  'federated_value_at_server': _at_server,
  'federated_zip_at_clients': _zip_at_clients,
  'federated_zip_at_server': _at_server,
  'sequence_map': _sequence_map,
  'sequence_reduce': _sequence_reduce,
  'sequence_sum': _sequence_sum,
}
