# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the systems of Zhang et al.: types, NumPy, both runtimes."""

import functools

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tests import given_labels_reference
from tests import linear_reference
from tests import local_steps_reference
from tests import simulation_test_case
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem


@functools.cache
def _build(**changes):
  return zhang2020_reference.build('consistency_averaging', changes)


class RoundTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  def test_rounds_equal_numpy(self):
    """Rounds without clients, with all, with one fewer, and in other slots."""
    process = zhang2020_reference.SlottedProcess(_build(), 3)
    state = process.initialize()
    reference = zhang2020_reference.Reference(2, 3, 2)
    seen = set()
    for round_num, cohort in enumerate(([], [2, 0, 1], [1, 2], [0, 1, 2])):
      output = process.next(
        state, self.problem.server_data, self.problem.client_data(cohort)
      )
      state = output.state
      if round_num == 0:
        # The benchmark of Zhang et al. has no update by the server alone.
        zhang2020_reference.assert_close(
          state.global_model_weights.trainable, reference.average
        )
        for array in tf.nest.flatten(state.server_work['accumulator']):
          np.testing.assert_array_equal(array, np.zeros_like(array))
        continue
      servers, clients, updates = reference.run_round(
        self.problem,
        cohort,
        round_num,
        threshold=zhang2020_reference.THRESHOLD,
        strong=linear_reference.inverted,
      )
      zhang2020_reference.assert_close(
        state.global_model_weights.trainable, reference.average
      )
      for group, expected in enumerate(reference.groups):
        zhang2020_reference.assert_close(
          [a[group] for a in state.aggregator], expected
        )
        zhang2020_reference.assert_close(
          [a[group] for a in state.server_work['accumulator']],
          reference.server_momenta[group],
        )
      for slot, expected in zip(
        state.slots, reference.slot_momenta, strict=True
      ):
        zhang2020_reference.assert_close(slot.client['accumulator'], expected)
      self.assertEqual([int(slot.slot) for slot in state.slots], [0, 1, 2])
      self._assert_metrics(output.metrics, servers, clients, round_num)
      squares = sum(np.sum(update**2) for update in updates)
      diversity = squares / np.sum(sum(updates) ** 2)
      self.assertGreater(diversity * len(cohort), 1 - 1e-9)
      for part in ('aggregator', 'client'):
        np.testing.assert_allclose(
          [
            output.metrics[part][name]
            for name in ('weight_diversity', 'relative_weight_diversity')
          ],
          [diversity, diversity * len(cohort)],
          rtol=1e-3,
        )
      seen.update(c.num_counted for c in clients)
    # Some images of clients are confident and others not.
    self.assertTrue(
      seen - {0, zhang2020_reference.NUM_STEPS * zhang2020_reference.BATCH_SIZE}
    )

  def _assert_metrics(self, metrics, servers, clients, round_num):
    def ratio(nodes, part, whole):
      total = sum(getattr(n, whole) for n in nodes)
      return sum(getattr(n, part) for n in nodes) / (total or np.nan)

    for name, nodes in (('server', servers), ('client', clients)):
      for key, part in (('loss', 'loss_sum'), ('accuracy', 'num_correct')):
        np.testing.assert_allclose(
          metrics[name][key],
          ratio(nodes, part, 'num_counted'),
          rtol=1e-4,
          atol=1e-6,
        )
    np.testing.assert_allclose(
      metrics['client']['label_ratio'],
      ratio(clients, 'num_counted', 'num_visited'),
      rtol=1e-6,
    )
    self.assertEqual(metrics['client']['num_participating'], len(clients))
    self.assertEqual(metrics['client']['num_rejected'], 0)
    np.testing.assert_allclose(
      metrics['learning_rate'],
      zhang2020_reference.learning_rates(round_num)[-1],
      rtol=1e-5,
    )

  def test_self_training_equals_numpy(self):
    process = zhang2020_reference.SlottedProcess(
      zhang2020_reference.build('self_training_averaging'), 3
    )
    state = process.initialize()._replace(round_num=1)
    reference = zhang2020_reference.Reference(2, 3, 2)
    for round_num in (1, 2):
      state = process.next(
        state, self.problem.server_data, self.problem.client_data([0, 1, 2])
      ).state
      reference.run_round(
        self.problem,
        [0, 1, 2],
        round_num,
        threshold=zhang2020_reference.THRESHOLD,
        is_self_training=True,
      )
    zhang2020_reference.assert_close(
      state.global_model_weights.trainable, reference.average
    )

  def test_supervised_equals_numpy(self):
    process = zhang2020_reference.SlottedProcess(
      zhang2020_reference.build('supervised_averaging'), 3
    )
    labels = np.array([0, 2, 1, 1], np.int32)
    state = process.initialize()._replace(round_num=1)
    [data] = self.problem.client_data([0])
    data = data.map(lambda chunk: dict(chunk, label=labels))
    output = process.next(state, self.problem.server_data, [data])
    reference = zhang2020_reference.Reference(2, 3, 2)
    reference.run_round(self.problem, [0], 1, labels=labels)
    zhang2020_reference.assert_close(
      output.state.global_model_weights.trainable, reference.average
    )
    self.assertTrue(np.isnan(output.metrics['client']['label_ratio']))

  @pytest.mark.slow
  def test_client_without_images_is_in_no_mean(self):
    process = zhang2020_reference.SlottedProcess(_build(), 3)
    state = process.initialize()._replace(round_num=1)
    nobody = process.next(state, self.problem.server_data, [])
    images = np.zeros([0, *linear_reference.IMAGE_SHAPE], np.uint8)
    empty = process.next(
      state,
      self.problem.server_data,
      [linear_reference.client_dataset(5, images)],
    )
    zhang2020_reference.assert_close(
      empty.state.aggregator, nobody.state.aggregator
    )
    for slot in empty.state.slots:
      for array in slot.client['accumulator']:
        np.testing.assert_array_equal(array, np.zeros_like(array))
    self.assertEqual(empty.metrics['client']['num_participating'], 0)

  def test_a_label_is_by_the_model_of_its_step(self):
    process = zhang2020_reference.build(
      'consistency_averaging', returns_given_labels=True
    )
    state = process.initialize()
    output = process.next(
      state._replace(round_num=np.int32(1)),
      self.problem.server_data,
      self.problem.client_data([2, 0]),
      [
        process.initialize_memory()._replace(slot=np.int32(slot))
        for slot in range(2)
      ],
    )
    weights = state.global_model_weights.trainable
    for given, client_id in zip(output.given_labels, [2, 0], strict=True):
      expected = local_steps_reference.train_node(
        weights,
        [np.zeros_like(array) for array in weights],
        self.problem.clients[client_id][1],
        threshold=zhang2020_reference.THRESHOLD,
        weak=linear_reference.shifted,
        strong=linear_reference.inverted,
        seed=zhang2020_reference.SEED,
        round_num=1,
        node=client_id,
        num_steps=zhang2020_reference.NUM_STEPS,
        batch_size=zhang2020_reference.BATCH_SIZE,
        learning_rates=zhang2020_reference.learning_rates(1),
      )
      given_labels_reference.assert_given(given, expected.labeled)
    # The label ratio refers to these labels.
    share = np.concatenate([given.share for given in output.given_labels])
    np.testing.assert_allclose(
      np.mean(share > 0), output.metrics['client']['label_ratio'], rtol=1e-6
    )

  def test_without_clients_the_server_trains_alone(self):
    process = zhang2020_reference.SlottedProcess(
      _build(num_groups=1, clients_per_round=0), 0
    )
    state = process.initialize()._replace(round_num=1)
    output = process.next(state, self.problem.server_data, [])
    reference = zhang2020_reference.Reference(1, 0, 1)
    reference.run_round(self.problem, [], 1)
    zhang2020_reference.assert_close(
      output.state.global_model_weights.trainable, reference.average
    )


if __name__ == '__main__':
  absltest.main()
