# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training: statistics, divergence, and data by reference."""

import dataclasses
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests import linear_reference
from tests.experiment import linear_program
from tests.experiment import training_test_case
from tff_semifl.experiment import training


class TrainingTest(training_test_case.TrainingTestCase):
  @pytest.mark.slow
  def test_statistics_are_computed_after_each_round(self):
    program = linear_program.create_program(1, has_federated_statistics=True)
    final = self.train(self.create_tempdir().full_path, 1, program=program)
    # The pixels of all clients, images 6 to 29; the server has the first six
    # images.
    pixels = linear_reference.create_images(30)[6:].astype(np.float64)
    mean, variance = final.state.global_model_weights.non_trainable
    np.testing.assert_allclose(mean, [pixels.mean()], rtol=1e-5)
    np.testing.assert_allclose(variance, [pixels.var(ddof=1)], rtol=1e-5)

  @parameterized.parameters(
    # Rounds 0 to 4, of which 0, 3 and 4 are evaluated.
    (True, 5),
    (False, 3),
  )
  @pytest.mark.slow
  def test_statistics_that_nobody_asks_for(self, for_clients, expected):
    program = linear_program.create_program(4, has_federated_statistics=True)
    computation = program.statistics.computation
    passes = []

    def compute(weights, data):
      passes.append(data)
      return computation(weights, data)

    program = dataclasses.replace(
      program,
      rounds_per_evaluation=3,
      statistics=program.statistics._replace(
        computation=compute, for_clients=for_clients
      ),
    )
    self.train(self.create_tempdir().full_path, 4, program=program)
    self.assertLen(passes, expected)

  def test_divergence_is_reported_and_not_saved(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(4, learning_rate=1e38)
    with self.assertRaisesRegex(
      training.TrainingDivergedError, 'not finite after round 0'
    ):
      self.train(folder, 4, program=program)
    self.assertEmpty(list(pathlib.Path(folder, 'checkpoints').iterdir()))


if __name__ == '__main__':
  absltest.main()
