# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a program resumes a process with slots."""

import asyncio
import dataclasses
import functools
import pathlib

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.experiment import linear_program
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import training


@functools.cache
def _build_process():
  return small_systems.build(
    'consistency_averaging',
    {
      'clients_per_round': 2,
      'num_groups': 2,
      'steps_per_round': 3,
      'batch_size': 2,
      'confidence_threshold': 0.37,
      'learning_rate': 0.3,
      'warm_up_steps': 2,
      'schedule_steps': 20,
    },
    strong_augmentation=linear_reference.inverted,
    returns_given_labels=True,
  )


def _create_program(total_rounds):
  """An experiment with two slots in two groups, for two of the four clients."""
  return dataclasses.replace(
    linear_program.create_program(total_rounds), process=_build_process()
  )


class SlotsTest(simulation_test_case.SimulationTestCase):
  def _train(self, folder, program):
    """Trains; returns the metrics of these rounds, and the last state."""
    rows = {}
    final = asyncio.run(
      training.train(
        program,
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=tff.program.MemoryReleaseManager(),
        memories=group_averaging.SlotMemories(
          program.process.initialize_memory, 2
        ),
        on_start=lambda _: None,
        on_round=lambda n, metrics: rows.update(
          {n: metrics._replace(seconds=0)}
        ),
      )
    )
    return rows, final

  def _assert_same(self, first, second):
    for a, b in zip(
      tf.nest.flatten(first), tf.nest.flatten(second), strict=True
    ):
      np.testing.assert_array_equal(a, b)

  def test_resumed_run_equals_one_that_ran_through(self):
    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    rows, expected = self._train(whole, _create_program(4))
    self._train(cut, _create_program(2))
    resumed_rows, found = self._train(cut, _create_program(4))
    self._assert_same(expected, found)
    self._assert_same(resumed_rows, {n: rows[n] for n in (3, 4)})
    self.assertTrue(np.isnan(rows[0].server.loss))
    self.assertGreater(rows[2].server.loss, 0)
    # Two clients, with three steps of two images each, have 12 labels.
    accuracy = rows[2].client.pseudo_accuracy
    self.assertAlmostEqual(accuracy * 12 % 1, 0, delta=1e-4)
    # The test is meaningful only if the slots are in the checkpoint.
    self.assertEqual([int(slot.slot) for slot in found.memories], [0, 1])
    for slot in found.memories:
      self.assertGreater(np.abs(slot.client['accumulator'][0]).max(), 0)


if __name__ == '__main__':
  absltest.main()
