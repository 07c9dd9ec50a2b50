# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that federated SGD resumes exactly, updates of clients included."""

import asyncio
import pathlib

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tff_semifl import runtime
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.runs import checkpoints
from tff_semifl.runs import metrics_file
from tff_semifl.runs import training
from tff_semifl.runs import training_program
from tff_semifl.training import evaluation

_LAST_ROUND = 13


def _create_population():
  """Four clients of seven images, two of them in a round."""
  data = sources.ImagePool(
    linear_reference.create_images(28, seed=2), np.zeros([28], np.int32)
  )
  return pipelines.ClientPopulation(
    data,
    np.split(np.arange(28), 4),
    clients_per_round=2,
    seed=0,
    know_participation=True,
  )


def _create_program(total_rounds):
  classifier = linear_reference.create_classifier()
  labeled = sources.LabeledImages(
    linear_reference.create_images(6), (np.arange(6) % 3).astype(np.int32)
  )
  return training_program.TrainingProgram(
    process=small_systems.build(
      'fedsgd_fixmatch',
      {
        'total_rounds': _LAST_ROUND,
        'server_batch_size': 2,
        'client_batch_size': 3,
        'confidence_threshold': 0.34,
        'learning_rate': 0.3,
      },
      strong_augmentation=linear_reference.shifted,
    ),
    evaluation=evaluation.build_evaluation(classifier),
    server_dataset=pipelines.labeled_dataset(labeled),
    clients=_create_population(),
    test_dataset=pipelines.batched_dataset(labeled, 10),
    total_rounds=total_rounds,
  )


@pytest.mark.slow
class ResumingTest(absltest.TestCase):
  def _train(self, folder, total_rounds):
    return asyncio.run(
      training.train(
        _create_program(total_rounds),
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=metrics_file.MetricsFile(
          pathlib.Path(folder, 'metrics.csv')
        ),
        on_start=lambda _: None,
        on_round=lambda *_: None,
      )
    )

  def test_a_run_that_goes_on_ends_as_one_that_was_not_interrupted(self):
    population = _create_population()
    num_updates = np.bincount(
      np.concatenate([population.cohort(t) for t in range(1, _LAST_ROUND + 1)])
    )
    # With three batches each, clients are in their second or third epoch.
    self.assertBetween(num_updates.min(), 4, num_updates.max() - 1)
    self.assertGreater(num_updates.max(), 6)
    with runtime.simulation_context():
      whole = self._train(self.create_tempdir().full_path, _LAST_ROUND)
      folder = self.create_tempdir().full_path
      for last_round in (6, _LAST_ROUND):
        # A new program, as in another process.
        resumed = self._train(folder, last_round)
    self.assertEqual(resumed.round_num, whole.round_num)
    for found, expected in zip(
      tf.nest.flatten(resumed.state), tf.nest.flatten(whole.state), strict=True
    ):
      np.testing.assert_array_equal(found, expected)


if __name__ == '__main__':
  absltest.main()
