# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's own simulations run on both runtimes.

With clients that are known by a name, and make their dataset from it.
"""

import asyncio
import collections

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement
from tests.runtime import linear_regression

_NUM_CLIENTS = 3


def _create_client_data():
  """Three clients with 3, 4 and 5 examples."""
  rng = np.random.default_rng(seed=0)
  tensors = {}
  for client in range(_NUM_CLIENTS):
    x = rng.normal(client, size=(client + 3, 3)).astype(np.float32)
    tensors[f'client_{client}'] = collections.OrderedDict(
      x=x, y=x.sum(axis=1, keepdims=True)
    )
  return tff.simulation.datasets.TestClientData(tensors).preprocess(
    lambda dataset: dataset.batch(2).map(lambda row: (row['x'], row['y']))
  )


def _create_process():
  return tff.learning.algorithms.build_weighted_fed_avg(
    linear_regression.create_functional_model(),
    tff.learning.optimizers.build_sgdm(0.02),
  )


class TffSimulationTest(agreement.AgreementTestCase):
  def setUp(self):
    super().setUp()
    # TFF's loop of training wants the event loop of the thread, which is gone
    # once another test has called `asyncio.run`.
    loop = asyncio.new_event_loop()
    self.addCleanup(loop.close)
    self.addCleanup(asyncio.set_event_loop, None)
    asyncio.set_event_loop(loop)

  @pytest.mark.slow
  def test_datasets_are_made_at_the_clients(self):
    client_data = _create_client_data()
    process = _create_process()
    by_name = tff.simulation.compose_dataset_computation_with_learning_process(
      client_data.dataset_computation, process
    )
    names = client_data.client_ids
    outputs = self.assert_agree_in_rounds(by_name, [(names[:2],), (names,)])
    # The same as with datasets that are made here.
    with self.use(self.in_process):
      output = process.next(
        process.initialize(),
        [client_data.create_tf_dataset_for_client(n) for n in names[:2]],
      )
    self.assert_same(outputs[1].state, output.state)

  @pytest.mark.slow
  def test_loop_of_training(self):
    client_data = _create_client_data()
    process = _create_process()
    evaluation = tff.learning.algorithms.build_fed_eval(
      linear_regression.create_functional_model()
    )
    draw = tff.simulation.build_uniform_sampling_fn(
      client_data.client_ids, random_seed=1
    )

    def select(round_number):
      return [
        client_data.create_tf_dataset_for_client(name)
        for name in draw(round_number, 2)
      ]

    def evaluate(state, datasets):
      weights = process.get_model_weights(state)
      evaluation_state = evaluation.set_model_weights(
        evaluation.initialize(), weights
      )
      output = evaluation.next(evaluation_state, datasets)
      return output.metrics['client_work']['eval']['current_round_metrics']

    found = []
    for context in (self.in_process, self.native):
      metrics = tff.program.MemoryReleaseManager()
      with self.use(context):
        state = tff.simulation.run_training_process(
          process,
          select,
          3,
          evaluation_fn=evaluate,
          evaluation_selection_fn=select,
          metrics_managers=[metrics],
        )
      losses = [
        value['evaluation/mean_squared_error']
        for value in metrics.values().values()
      ]
      self.assertLen(losses, 4)
      found.append((state, losses))
    self.assert_same(*found)
    self.assertLess(found[0][1][-1], found[0][1][0])


if __name__ == '__main__':
  tf.test.main()
