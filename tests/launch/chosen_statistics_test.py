# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the images, batches and steps that settings choose.

Statistics are those of NumPy, for the first normalization layer of a
WideResNet, which sees a convolution of the pixels.
"""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tasks import digits
from tests import simulation_test_case
from tests import small_digits
from tests import small_systems
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.cli import commands

_SMALL = {
  'task': small_digits.SETTINGS['task'],
  'num_clients': 10,
  'clients_per_round': 2,
  'client_epochs': 0.1,
  'server_epochs': 0.5,
  'server_batch_size': 20,
  'total_rounds': 2,
  'total_epochs': 2,
  'model_width': 1,
  'experiment_name': 'small',
  'tensorboard': False,
}


def _see(experiment, images):
  """Returns the input of the first normalization layer, in float64."""
  kernel = experiment.model.trainable_weights[0].numpy()
  assert kernel.shape[:3] == (3, 3, 1)
  pixels = images / 255 - digits.Digits().create().pixel_mean[0]
  pixels /= digits.Digits().create().pixel_standard_deviation[0]
  padded = np.pad(pixels[..., 0], [(0, 0), (1, 1), (1, 1)])
  windows = np.lib.stride_tricks.sliding_window_view(padded, [3, 3], (1, 2))
  seen = np.einsum('nhwij,ijc->nhwc', windows, kernel[:, :, 0].astype(float))
  return seen.reshape(-1, kernel.shape[-1])


def _average_batches(experiment, images, batch_size):
  """Means over batches of means and of unbiased variances (A.5, D8)."""
  batches = [
    _see(experiment, images[start : start + batch_size])
    for start in range(0, len(images), batch_size)
  ]
  return [
    np.mean([batch.mean(axis=0) for batch in batches], axis=0),
    np.mean([batch.var(axis=0, ddof=1) for batch in batches], axis=0),
  ]


def _command(system_name, **changes):
  """Returns a command with those small settings that the system has."""
  small = settings.change_present(commands.create(system_name, {}), _SMALL)
  return settings.change(small, changes)


@pytest.mark.slow
class ChosenStatisticsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_systems.sharing_models())
    cls.enterClassContext(simulation_test_case.without_grappler())

  def _create(self, system_name, **changes):
    with small_systems.without_process(system_name):
      return _command(system_name, **changes).create_experiment()

  def _assert_computes(self, experiment, statistics, expected):
    """Checks the first layer's statistics."""
    with runtime.simulation_context():
      weights = experiment.classifier.initial_weights
      found = statistics.computation(weights, statistics.data)
    # In float32 the batches' means are small numbers beside their deviations.
    for value, exact in zip(found.non_trainable, expected, strict=False):
      np.testing.assert_allclose(value, exact, rtol=1e-4, atol=1e-5)

  def _class_by_class(self, experiment):
    labeled = experiment.data.labeled
    return np.concatenate(
      [labeled.images[labeled.labels == label] for label in range(10)]
    )

  @parameterized.parameters((20,), (300,))
  def test_partially_supervised_d8(self, server_batch_size):
    """D.1: the labeled images class by class, in the batches of training."""
    experiment = self._create(
      'labels_alone',
      num_labeled=500,
      server_batch_size=server_batch_size,
      batch_norm_statistics='server_batches',
    )
    images = self._class_by_class(experiment)
    expected = _average_batches(experiment, images, server_batch_size)
    self._assert_computes(experiment, experiment.statistics, expected)
    # Neither the statistics of all images nor those of mixtures.
    for other in (
      _average_batches(experiment, images, 500),
      _average_batches(
        experiment, experiment.data.labeled.images, server_batch_size
      ),
    ):
      self.assertGreater(np.abs(other[1] / expected[1] - 1).max(), 1e-3)

  def test_fully_supervised_keeps_the_order_of_the_data(self):
    """D.1: the authors do not sort by class here."""
    experiment = self._create(
      'all_labels', batch_norm_statistics='server_batches'
    )
    images = digits.Digits().create().load().train.images
    self.assertLen(images, 1437)
    self._assert_computes(
      experiment,
      experiment.statistics,
      _average_batches(experiment, images, 20),
    )

  def test_server_only_d8(self):
    """SemiFL's Table 3, sbn=0: as pooled, of the server's images alone."""
    experiment = self._create(
      'semifl', num_labeled=500, batch_norm_statistics='server_batches'
    )
    statistics = experiment.statistics
    # Clients label by them.
    self.assertTrue(statistics.for_clients)
    self._assert_computes(
      experiment,
      statistics,
      _average_batches(experiment, self._class_by_class(experiment), 250),
    )

  @parameterized.parameters(
    ('labels_alone', 'pooled', 'there are no clients; use'),
    ('fixmatch', 'server_batches', 'it is of labeled images alone'),
    ('supervised_fedavg', 'server_batches', 'the server has no images'),
  )
  def test_statistics_of_nobody(self, system, kind, message):
    with self.assertRaisesRegex(
      settings.SettingError, f'^batch_norm_statistics={kind}: {message}'
    ):
      self._create(system, batch_norm_statistics=kind)


class PooledStatisticsTest(parameterized.TestCase):
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
