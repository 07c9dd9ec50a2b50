# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the images, batches and steps that settings choose.

The numbers computed from images and batches are in
`batch_norm_statistics_test`.
"""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tasks import digits
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.cli import commands
from tff_semifl.core import statistics_passes

_SMALL = {
  'task': small_digits.SETTINGS['task'],
  'num_clients': 10,
  'clients_per_round': 2,
  'server_batch_size': 20,
  'model_width': 1,
}


def _class_by_class(data):
  return data.labeled.images[np.argsort(data.labeled.labels, kind='stable')]


@pytest.mark.slow
class ChosenStatisticsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_systems.sharing_models())

  def _create(self, system_name, **changes):
    with small_systems.without_process(system_name):
      small = settings.change_present(commands.create(system_name, {}), _SMALL)
      return settings.change(small, changes).create_experiment()

  @parameterized.parameters(
    # In the batches of training, or in batches of 250 if clients label.
    ('labels_alone', 20, {'num_labeled': 500}),
    ('labels_alone', 300, {'num_labeled': 500, 'server_batch_size': 300}),
    ('semifl', 250, {'num_labeled': 500}),
    # The authors do not sort all labels by class.
    ('all_labels', 20, {}),
  )
  def test_server_batches(self, system_name, batch_size, changes):
    with mock.patch.object(statistics_passes, 'build_pooled_pass') as build:
      experiment = self._create(
        system_name, batch_norm_statistics='server_batches', **changes
      )
    self.assertEqual(build.call_args.kwargs['batch_size'], batch_size)
    (images,) = experiment.statistics.data.as_numpy_iterator()
    if system_name == 'all_labels':
      expected = digits.Digits().create().load().train.images
    else:
      expected = _class_by_class(experiment.data)
    np.testing.assert_array_equal(images, expected)
    # Clients label by these statistics.
    self.assertEqual(experiment.statistics.for_clients, system_name == 'semifl')

  @parameterized.parameters(
    ('labels_alone', 'pooled', 'there are no clients; use'),
    ('fixmatch', 'server_batches', 'it is only for labeled images'),
    ('supervised_fedavg', 'server_batches', 'the server has no images'),
  )
  def test_statistics_of_nobody(self, system, kind, message):
    with self.assertRaisesRegex(
      settings.SettingError, f'^batch_norm_statistics={kind}: {message}'
    ):
      self._create(system, batch_norm_statistics=kind)


class PooledStatisticsTest(parameterized.TestCase):
  def _create(self, **changes):
    """Creates an experiment with digits, but without a process."""
    values = {
      **small_digits.SETTINGS,
      'num_clients': 10,
      'clients_per_round': 2,
      'output_dir': self.create_tempdir().full_path,
      **changes,
    }
    with small_systems.without_process('semifl'):
      return commands.create('semifl', values).create_experiment()

  @parameterized.parameters((0.001, 1), (0.5, 7), (1, 14), (1.5, 28), (0, 0))
  def test_steps_of_shares_of_an_epoch(self, num_epochs, num_steps):
    """138 images make 14 batches of ten."""
    self.assertEqual(
      training_settings.count_epoch_steps(138, 10, num_epochs), num_steps
    )

  @parameterized.parameters(
    ('model_depth', 9, {'model': 'wide_resnet'}),
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
    """Pooled statistics use the labeled images by class, then all others."""
    experiment = self._create(batch_norm_statistics='pooled', num_clients=7)
    data = experiment.data
    chunks = experiment.statistics.data
    labeled, others = chunks.as_numpy_iterator()
    np.testing.assert_array_equal(others, data.unlabeled.images)
    # 1,387 unlabeled images cannot be divided by seven.
    self.assertGreater(len(others), sum(map(len, data.shares)))
    np.testing.assert_array_equal(labeled, _class_by_class(data))


if __name__ == '__main__':
  absltest.main()
