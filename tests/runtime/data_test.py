# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of data that computations bring along themselves."""

import asyncio

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import in_process

_INT_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_FLOAT_AT_CLIENTS = tff.FederatedType(np.float32, tff.CLIENTS)


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


def _invoke(computation, argument=None):
  return in_process.InProcessContext().invoke(computation, argument)


class DataTest(tf.test.TestCase):
  def test_external_data_is_refused_with_advice(self):
    proto = tff.tensorflow.computation(lambda: 1).to_building_block().proto
    content = type(proto.tensorflow.graph_def)()
    data = tff.framework.Data(content, np.int32)
    computation = tff.framework.ConcreteComputation.from_building_block(
      tff.framework.Lambda(None, None, data)
    )
    with self.assertRaisesRegex(NotImplementedError, 'external data'):
      _invoke(computation)

  def test_descriptor_brings_its_clients_along(self):
    @tff.federated_computation(_INT_AT_CLIENTS)
    def increment_all(x):
      return tff.federated_map(_increment, x)

    add = tff.federated_computation(tff.federated_sum, _INT_AT_CLIENTS)
    data = tff.framework.DataDescriptor(
      increment_all, [1, 2], _INT_AT_CLIENTS, 2
    )

    async def invoke_in_event_loop():
      return _invoke(add, data)

    self.assertEqual(_invoke(add, data), 5)  # (1 + 1) + (2 + 1)
    self.assertEqual(asyncio.run(invoke_in_event_loop()), 5)

  def test_descriptor_that_miscounts_its_clients_is_refused(self):
    add = tff.federated_computation(tff.federated_sum, _INT_AT_CLIENTS)
    data = tff.framework.DataDescriptor(None, [1, 2, 3], _INT_AT_CLIENTS, 2)
    with self.assertRaisesRegex(ValueError, r'\{2\} clients.*found \{3\}'):
      _invoke(add, data)

  def test_descriptor_of_another_type_is_refused(self):
    add = tff.federated_computation(tff.federated_sum, _INT_AT_CLIENTS)
    data = tff.framework.DataDescriptor(None, [1.5], _FLOAT_AT_CLIENTS, 1)
    with self.assertRaisesRegex(TypeError, 'float32.*int32'):
      _invoke(add, data)


if __name__ == '__main__':
  tf.test.main()
