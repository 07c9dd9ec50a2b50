# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of facts on the images that an experiment is evaluated on."""

import dataclasses

from absl.testing import absltest
import numpy as np

from tests import small_digits
from tff_semifl.cli import commands
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment as experiment_lib


class EvaluatedImagesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    command = commands.create(
      'labels_alone',
      {
        **small_digits.SETTINGS,
        'output_dir': absltest.get_default_test_tmpdir(),
      },
    )
    cls._command = command
    cls._experiment = command.create_experiment()

  def test_images_that_are_right_are_those_of_the_evaluation(self):
    program = self._experiment
    weights = self._experiment.classifier.initial_weights
    with self._command.context():
      measured = program.evaluation(weights, program.test_dataset)
    by_index = experiment_lib.create_experiment(
      self._command.experiment, self._command.run, by_index=True
    )
    for experiment in (self._experiment, by_index):
      is_right = evaluated_images.find_right(experiment, weights)
      self.assertEqual(is_right.shape, (360,))
      self.assertAlmostEqual(is_right.mean(), measured['accuracy'], places=6)
    # Some are right and some wrong, so that the test compares both.
    self.assertBetween(is_right.sum(), 5, 355)

  def test_names_classes_without_an_image(self):
    test = self._experiment.data.test
    kept = test.select(np.flatnonzero(~np.isin(test.labels, [2, 7])))
    found = dataclasses.replace(
      self._experiment, data=self._experiment.data._replace(test=kept)
    )
    (problem,) = evaluated_images.find_problems(found)
    self.assertIn('class 2, 7', problem)
    self.assertIn('8 of 10 classes', problem)
    self.assertIn('8 of 10 classes', evaluated_images.describe(found))
    self.assertEmpty(list(evaluated_images.find_problems(self._experiment)))


if __name__ == '__main__':
  absltest.main()
