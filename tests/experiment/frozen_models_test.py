# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of linear layers on the features of a frozen network."""

import contextlib
import io
import pathlib
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import small_systems
from tests.models.frozen import small_backbone
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.files import durable_files
from tff_semifl.models.frozen import feature_cache

_NUM_IMAGES = 30
_LABELS = np.arange(_NUM_IMAGES) % 3


def _create_images(seed: int) -> np.ndarray:
  """Noise of 2x2 pixels, brightest in the channel of the class."""
  images = np.random.default_rng(seed).integers(
    0, 120, (_NUM_IMAGES, 2, 2, 3), np.uint8
  )
  images[np.arange(_NUM_IMAGES), :, :, _LABELS] += 80
  return images


class FrozenModelTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._save(1.0)

  def _save(self, factor: float, name: str = 'mine.keras') -> None:
    small_backbone.create_network(factor).save(self._folder / name)

  def _create(self, system='client_priors', task=None, **changes):
    task = task or own_data.own_data(
      (_create_images(0), _LABELS),
      (_create_images(1), _LABELS),
      clients=np.array_split(_create_images(2), 3),
    )
    return python_experiment.create_experiment(
      system,
      task,
      **{
        'model': f'frozen:{self._folder / "mine.keras"}',
        'feature_cache': str(self._folder / 'cache'),
        'output_dir': str(self._folder / 'results'),
        'tensorboard': False,
      }
      | changes,
    )

  def test_trains_on_features_and_exports_a_model_of_pixels(self):
    changes = {'system': 'labels_alone', 'total_epochs': 1}
    with contextlib.redirect_stderr(io.StringIO()) as lines:
      experiment = self._create(**changes, learning_rate=0.5)
    self.assertEqual(lines.getvalue().count('30 images by'), 3)
    data = experiment.data
    # Averages over pixels, which do not depend on the image size.
    features = _create_images(1).mean(axis=(1, 2))
    self.assertAllClose(data.test.images, features, rtol=0.05, atol=3)
    folder = experiment_folder.open_folder(experiment)
    path = folder.path
    with runtime.simulation_context():
      final = running.run(experiment, folder, quiet=True)
    logits = experiment.classifier.logits(
      final.state.global_model_weights, tf.constant(data.test.images)
    )
    served = tf.saved_model.load(str(folder.export_path))
    # The folder is locked while the object exists.
    del folder
    found = served.signatures['serving_default'](
      images=tf.constant(_create_images(1))
    )
    self.assertAllClose(found['probabilities'], tf.nn.softmax(logits))

    self.enter_context(small_systems.without_computations())
    with contextlib.redirect_stderr(io.StringIO()) as lines:
      self._create(**changes)
    self.assertEmpty(lines.getvalue())
    with (
      contextlib.redirect_stderr(io.StringIO()) as lines,
      mock.patch.object(feature_cache, '_COMPUTED', set()),
    ):
      again = self._create(**changes, learning_rate=0.5)
    self.assertEqual(lines.getvalue().count('computed before'), 3)
    experiment_folder.open_folder(again)
    # The same network with other weights is a different model.
    self._save(2.0, 'other.keras')
    other = self._create(
      **changes,
      learning_rate=0.5,
      model=f'frozen:{self._folder / "other.keras"}',
      experiment_name=path.name,
    )
    with self.assertRaises(durable_files.OutputError):
      experiment_folder.open_folder(other)

  @parameterized.parameters(
    (
      'semifl',
      {'model': 'frozen:efficientnet_lite'},
      'give efficientnet_lite0',
    ),
    ('semifl', {'model': 'frozen:'}, 'there is none of this name'),
    ('semifl', {'strong_augmentation': 'semifl'}, 'which are given noise'),
    ('semifl', {'backbone_size': 48}, 'choose that image_size'),
  )
  def test_bad_settings(self, system, changes, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      self._create(system, **changes)

  def test_features_have_been_computed_already(self):
    task = own_data.own_data(
      (np.eye(3), np.arange(3)), (np.eye(3), np.arange(3)), clients=[np.eye(3)]
    )
    with self.assertRaisesRegex(settings.SettingError, 'choose linear'):
      self._create(task=task)


if __name__ == '__main__':
  tf.test.main()
