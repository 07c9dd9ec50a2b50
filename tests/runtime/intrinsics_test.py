# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of TFF's intrinsics in the in-process context."""

import collections

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import in_process

_INT_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_FLOAT_AT_CLIENTS = tff.FederatedType(np.float32, tff.CLIENTS)
_INT_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


@tff.tensorflow.computation(np.int32, np.int32)
def _add(x, y):
  return x + y


# Not commutative, so that the result shows the order of clients: 012 -> 12.
@tff.tensorflow.computation(np.int32, np.int32)
def _append_digit(number, digit):
  return 10 * number + digit


def _invoke(computation, *args, default_num_clients=3):
  context = in_process.InProcessContext(default_num_clients=default_num_clients)
  if len(args) > 1:
    args = [tff.structure.Struct.unnamed(*args)]
  return context.invoke(computation, *(args or [None]))


class IntrinsicsTest(parameterized.TestCase, tf.test.TestCase):
  def test_broadcast_and_map_of_what_clients_share(self):
    @tff.federated_computation(_INT_AT_SERVER, _INT_AT_CLIENTS)
    def run(at_server, at_clients):
      shared = tff.federated_broadcast(at_server)
      return (
        shared,
        tff.federated_map(_increment, shared),
        tff.federated_map(_add, (shared, at_clients)),
        tff.federated_sum(shared),
      )

    # A map of a value that clients share has, by its type, a result per client.
    self.assertEqual(_invoke(run, 10, [1, 2]), (10, [11, 11], [11, 12], 20))
    self.assertEqual(_invoke(run, 10, []), (10, [], [], 0))

  def test_eval_and_value(self):
    @tff.federated_computation
    def run():
      five = tff.tensorflow.computation(lambda: 5)
      return (
        tff.federated_eval(five, tff.CLIENTS),
        tff.federated_eval(five, tff.SERVER),
        tff.federated_value(6, tff.CLIENTS),
        tff.federated_value(7, tff.SERVER),
      )

    self.assertEqual(_invoke(run), ([5, 5, 5], 5, 6, 7))

  def test_zip(self):
    @tff.federated_computation(
      _INT_AT_CLIENTS, _FLOAT_AT_CLIENTS, _INT_AT_SERVER
    )
    def run(x, y, z):
      return (
        tff.federated_zip(collections.OrderedDict(x=x, inner=(y, x))),
        tff.federated_zip((z, z)),
        tff.federated_zip((tff.federated_broadcast(z), x)),
        tff.federated_zip((tff.federated_broadcast(z),) * 2),
      )

    nested, at_server, mixed, shared = _invoke(run, [1, 2], [0.5, 1.5], 3)

    self.assertEqual(
      nested,
      [
        collections.OrderedDict(x=1, inner=(0.5, 1)),
        collections.OrderedDict(x=2, inner=(1.5, 2)),
      ],
    )
    self.assertEqual(at_server, (3, 3))
    self.assertEqual(mixed, [(3, 1), (3, 2)])
    # By its type, each client has its own value.
    self.assertEqual(shared, [(3, 3), (3, 3)])

  def test_aggregate_goes_through_the_clients_in_order(self):
    @tff.federated_computation(_INT_AT_CLIENTS)
    def run(x):
      return tff.federated_aggregate(
        x, 0, _append_digit, _append_digit, _increment
      )

    self.assertEqual(_invoke(run, [1, 2, 3]), 124)
    self.assertEqual(_invoke(run, []), 1)

  def test_sum_mean_min_max(self):
    @tff.federated_computation(_FLOAT_AT_CLIENTS, _FLOAT_AT_CLIENTS)
    def run(x, w):
      return (
        tff.federated_sum(x),
        tff.federated_mean(x),
        tff.federated_mean(x, w),
        tff.federated_min(x),
        tff.federated_max(x),
      )

    # Weighted mean: (1 * 3 + 2 * 1) / (3 + 1).
    self.assertAllClose(
      _invoke(run, [1.0, 2.0], [3.0, 1.0]), (3.0, 1.5, 1.25, 1.0, 2.0)
    )


if __name__ == '__main__':
  tf.test.main()
