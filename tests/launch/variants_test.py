# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of variants by settings: models, steps, statistics."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.command_line import commands
from tff_semifl.experiments import plan
from tff_semifl.systems import training_settings


class VariantsTest(parameterized.TestCase):
  def _create(self, **changes):
    """Returns an experiment with digits, but without a process."""
    values = {
      **small_digits.SETTINGS,
      'num_clients': 10,
      'clients_per_round': 2,
      'output_dir': self.create_tempdir().full_path,
      **changes,
    }
    with small_systems.without_process('semifl'):
      return commands.create('semifl', values).create_experiment()

  @pytest.mark.slow
  def test_plan_has_the_model_and_the_steps_asked_for(self):
    described = plan.describe(
      self._create(model='resnet', client_epochs=0.5, server_epochs=1.5)
    )
    # The count of B.2 for three channels and ten classes, less what the first
    # convolution has for two of the channels.
    self.assertEqual(described['trainable_parameters'], 4901450 - 2 * 9 * 64)
    self.assertNotIn('model_width', described['flags'])
    # 138 images make 14 batches of ten, and 50 labels make five.
    self.assertEqual(described['steps_of_a_client_per_round_at_most'], 7)
    self.assertEqual(described['server_steps_per_round'], 10)

  @parameterized.parameters((0.001, 1), (0.5, 7), (1, 14), (1.5, 28), (0, 0))
  def test_steps_of_shares_of_an_epoch(self, num_epochs, num_steps):
    """A.10: 138 images make 14 batches of ten."""
    self.assertEqual(
      training_settings.count_epoch_steps(138, 10, num_epochs), num_steps
    )

  @parameterized.parameters(
    ('model_depth', 10, {'model': 'resnet'}),
    (
      'batch_norm_statistics',
      'server',
      {'model': 'wide_resnet', 'normalization': 'group'},
    ),
  )
  def test_settings_that_do_not_go_together(self, name, value, others):
    with self.assertRaisesRegex(settings.SettingError, f'^{name}={value}: '):
      self._create(**others, **{name: value})

  def test_pooled_statistics_are_of_the_labeled_class_by_class(self):
    """D10: then all other images, also those without a client."""
    experiment = self._create(batch_norm_statistics='pooled', num_clients=7)
    data = experiment.data
    chunks = experiment.statistics.data
    labeled, others = chunks.as_numpy_iterator()
    np.testing.assert_array_equal(others, data.unlabeled.images)
    # 1,387 unlabeled images do not go into seven.
    self.assertGreater(len(others), sum(map(len, data.shares)))
    for label in range(10):
      np.testing.assert_array_equal(
        labeled[5 * label : 5 * label + 5],
        data.labeled.images[data.labeled.labels == label],
      )


if __name__ == '__main__':
  absltest.main()
