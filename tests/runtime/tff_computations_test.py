# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TFF's language gives the same results on both runtimes."""

import collections
from typing import Any, NamedTuple

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

_INTS = tff.SequenceType(np.int32)
_INT_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_INT_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)


class _Pair(NamedTuple):
  first: Any
  second: Any


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


@tff.tensorflow.computation(np.int32)
def _to_float(x):
  return tf.cast(x, tf.float32)


@tff.tensorflow.computation
def _five():
  return 5


@tff.tensorflow.computation(_INTS)
def _sum_dataset(dataset):
  return dataset.reduce(0, lambda total, x: total + x)


@tff.federated_computation(_INT_AT_CLIENTS, _INT_AT_SERVER)
def _round_trip(at_clients, at_server):
  """Everything between server and clients, with a struct of results."""
  shared = tff.federated_broadcast(at_server)
  zipped = tff.federated_zip(
    collections.OrderedDict(x=at_clients, y=(shared, at_clients))
  )
  incremented = tff.federated_map(_increment, at_clients)
  return collections.OrderedDict(
    zipped=zipped,
    total=tff.federated_sum(zipped),
    mean=tff.federated_mean(
      tff.federated_map(_to_float, incremented), at_clients
    ),
    pair=_Pair(tff.federated_map(_increment, at_server), (at_server,)),
    constant=tff.federated_value(7, tff.SERVER),
    evaluated=tff.federated_eval(_five, tff.CLIENTS),
  )


class TffComputationsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    ('value', {'x': np.float32(1.001)}),
    ('shape', {'x': np.array([1], np.float32)}),
    ('container', collections.OrderedDict(x=np.float32(1))),
  )
  def test_difference_would_be_found(self, other):
    value = {'x': np.float32(1)}
    self.assert_same(value, {'x': np.float32(1 + 1e-7)})
    with self.assertRaises(AssertionError):
      self.assert_same(value, other)

  def test_round_trip(self):
    result = self.assert_agree(_round_trip, [1, 2, 5], 10)
    self.assertEqual(result['total']['y'][0], 30)
    self.assertEqual(result['pair'], _Pair(11, (10,)))

  def test_results_are_of_the_same_python_types(self):
    @tff.tensorflow.computation(tff.TensorType(np.float32, [None]))
    def describe(x):
      return collections.OrderedDict(
        array=x,
        scalar=tf.reduce_sum(x),
        integer=tf.size(x),
        string=tf.constant('a'),
        strings=tf.constant(['a', 'b']),
        truth=tf.constant(True),
        nested=[(x[0],), {'k': x[1]}],
        half=tf.cast(x, tf.bfloat16),
        nothing=(),
      )

    @tff.federated_computation(
      tff.FederatedType(tff.TensorType(np.float32, [None]), tff.CLIENTS)
    )
    def describe_all(x):
      return tff.federated_map(describe, x)

    self.assert_agree(describe_all, [np.array([1, 2], np.float32)] * 2)

  @parameterized.parameters(0, 3)
  def test_minimum_and_maximum(self, num_clients):
    value_type = collections.OrderedDict(
      x=tff.TensorType(np.float32, [2]), n=np.int32
    )

    @tff.federated_computation(tff.FederatedType(value_type, tff.CLIENTS))
    def extremes(value):
      return tff.federated_min(value), tff.federated_max(value)

    values = [
      collections.OrderedDict(x=[2.0, 5.0], n=1),
      collections.OrderedDict(x=[1.0, 7.0], n=3),
      collections.OrderedDict(x=[3.0, 6.0], n=-1),
    ]
    smallest, largest = self.assert_agree(extremes, values[:num_clients])
    if num_clients == 3:
      self.assertAllEqual(smallest['x'], [1, 5])
      self.assertEqual(largest['n'], 3)


if __name__ == '__main__':
  tf.test.main()
