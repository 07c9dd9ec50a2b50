# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Processes that TFF puts together from others run on both runtimes."""

import collections

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

_INT_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_INT_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)


@tff.tensorflow.computation(np.int32, np.int32)
def _add(x, y):
  return x + y


@tff.tensorflow.computation(np.int32)
def _double(x):
  return 2 * x


def _at_server(value):
  return tff.federated_value(value, tff.SERVER)


def _create_adding_process():
  """Adds to what each client has the number of the round, from 1."""

  @tff.federated_computation(_INT_AT_SERVER, _INT_AT_CLIENTS)
  def next_fn(state, values):
    state = tff.federated_map(_add, (state, _at_server(1)))
    return tff.templates.MeasuredProcessOutput(
      state,
      tff.federated_map(_add, (values, tff.federated_broadcast(state))),
      tff.federated_zip(
        collections.OrderedDict(doubled=tff.federated_map(_double, state))
      ),
    )

  return tff.templates.MeasuredProcess(
    tff.federated_computation(lambda: _at_server(0)), next_fn
  )


def _create_summing_process():
  """Sums over clients, and over all rounds."""

  @tff.federated_computation(_INT_AT_SERVER, _INT_AT_CLIENTS)
  def next_fn(state, values):
    total = tff.federated_sum(values)
    state = tff.federated_map(_add, (state, total))
    return tff.templates.MeasuredProcessOutput(state, state, total)

  return tff.templates.AggregationProcess(
    tff.federated_computation(lambda: _at_server(100)), next_fn
  )


def _create_processes():
  return collections.OrderedDict(
    adding=_create_adding_process(), summing=_create_summing_process()
  )


class TffTemplatesTest(agreement.AgreementTestCase):
  def test_chain_of_measured_processes(self):
    chain = tff.templates.chain_measured_processes(_create_processes())
    start, first, second, _ = self.assert_agree_in_rounds(
      chain, [([1, 2],), ([5],), ([],)]
    )
    self.assertEqual(start, {'adding': 0, 'summing': 100})
    # 1 + 1 and 2 + 1 on top of 100; then 5 + 2.
    self.assertEqual(first.state, {'adding': 1, 'summing': 105})
    self.assertEqual(first.result, 105)
    self.assertEqual(
      first.measurements, {'adding': {'doubled': 2}, 'summing': 5}
    )
    self.assertEqual(second.result, 112)
    self.assertEqual(
      second.measurements, {'adding': {'doubled': 4}, 'summing': 7}
    )

  def test_concatenation_of_measured_processes(self):
    both = tff.templates.concatenate_measured_processes(_create_processes())
    _, first, second = self.assert_agree_in_rounds(
      both,
      [
        (collections.OrderedDict(adding=[1, 2], summing=[10, 20]),),
        (collections.OrderedDict(adding=[5], summing=[7]),),
      ],
    )
    self.assertEqual(first.result, {'adding': [2, 3], 'summing': 130})
    self.assertEqual(second.result, {'adding': [7], 'summing': 137})
    self.assertEqual(second.state, {'adding': 2, 'summing': 137})
    self.assertEqual(
      second.measurements, {'adding': {'doubled': 4}, 'summing': 7}
    )


if __name__ == '__main__':
  tf.test.main()
