# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that models of Keras are trained, exported and restored."""

import os
import pathlib
import sys
import types
from unittest import mock
import urllib.error

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tasks import image_folder
from tests import simulation_test_case
from tests import small_applications
from tests import small_digits
from tests.data import image_tree
from tff_semifl import runtime
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import keras_models
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.export import exported_model
from tff_semifl.files import durable_files
from tff_semifl.models import functional
from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout

_SIZE = 32
_IMAGES = np.random.default_rng(0).integers(
  256, size=(3, _SIZE, _SIZE, 3), dtype=np.uint8
)


def _create_outside(task, seed):
  """A nested model with normalization, half of it frozen."""
  tf.keras.utils.set_random_seed(seed)
  layers = tf.keras.layers
  backbone = tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      layers.Conv2D(4, 3, strides=4, name='frozen', trainable=False),
      layers.BatchNormalization(name='frozen_normalization', trainable=False),
      layers.Conv2D(4, 3),
      layers.BatchNormalization(),
      layers.ReLU(),
    ]
  )
  inputs = tf.keras.Input(task.image_shape)
  x = layers.GlobalAveragePooling2D()(backbone(inputs))
  return tf.keras.Model(inputs, layers.Dense(task.num_classes)(x))


@pytest.mark.slow
class TrainingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    outside = types.ModuleType('outside')
    outside.model = _create_outside
    self.enter_context(mock.patch.dict(sys.modules, outside=outside))
    self.enter_context(simulation_test_case.without_grappler())
    self.enter_context(small_digits.without_rand_augment())
    self.enter_context(small_applications.with_small_backbones())

  def _create(self, system='semifl', **changes):
    task = image_folder.ImageFolder(
      image_dir=str(image_tree.write_tree(self.folder / 'photos')),
      image_size=str(_SIZE),
    )
    few = {
      'total_rounds': 2,
      'clients_per_round': 2,
      'client_epochs': 1,
      'server_epochs': 1,
      'steps_per_round': 2,
      'confidence_threshold': 0.5,
    }
    created = experiment_settings.create(
      system,
      system_registry.SYSTEMS[system],
      task_registry.ChosenTask(task=task),
      few | changes,
      lenient=True,
    )
    return experiment_lib.create_experiment(
      created, run_settings.RunSettings(output_dir=str(self.folder))
    )

  def _run(self, experiment):
    """Trains, and returns the classifier's weights before and after."""
    self.enter_context(runtime.simulation_context())
    before = experiment.classifier.initial_weights
    variables = experiment.classifier.variables.frozen
    frozen = [variable.numpy() for variable in variables]
    folder = experiment_folder.open_folder(experiment)
    final = running.run(experiment, folder, quiet=True)
    self.assertEqual(final.round_num, 2)
    after = final.state.global_model_weights
    changed = [
      not np.array_equal(old, new)
      for old, new in zip(before.trainable, after.trainable, strict=True)
    ]
    self.assertTrue(any(changed))
    for old, new in zip(frozen, variables, strict=True):
      np.testing.assert_array_equal(old, new)
    exported = exported_model.load(folder.export_path)
    np.testing.assert_allclose(
      exported.predict(_IMAGES),
      tf.nn.softmax(experiment.model(_IMAGES.astype(np.float32))),
      atol=1e-5,
    )
    return folder

  @parameterized.parameters('static_batch', 'group')
  def test_outside_model(self, normalization):
    experiment = self._create(
      model='outside:model', normalization=normalization, input_range='0_to_1'
    )
    kinds = functional.find_weights(experiment.model)
    self.assertLen(kinds.frozen, 2 + 4)
    self.assertLen(kinds.statistics, 2 if normalization != 'group' else 0)
    folder = self._run(experiment)
    # A new model with what the folder has is the trained one.
    model = experiment.settings.model.model.create(experiment.task, 7)
    trained = saved_experiment.read_trained_model(folder.path)
    functional.find_weights(model).assign(
      trained.weights, trained.frozen_weights
    )
    images = _IMAGES.astype(np.float32)
    np.testing.assert_array_equal(model(images), experiment.model(images))

  def _pretrain(self, function_name, **arguments):
    """Returns a backbone, and the file with its weights."""
    tf.keras.utils.set_random_seed(5)
    backbone = getattr(tf.keras.applications, function_name)(
      include_top=False,
      pooling='avg',
      weights=None,
      input_shape=(_SIZE, _SIZE, 3),
      **arguments,
    )
    file = str(self.folder / 'pretrained.h5')
    backbone.save_weights(file)
    return backbone, file

  def test_fine_tuned_efficientnet_which_drops_parts_of_itself(self):
    _, file = self._pretrain('EfficientNetV2B0')
    experiment = self._create(model='efficientnet_v2', weights=file)
    self.assertTrue(
      any(
        isinstance(layer, keyed_dropout.KeyedDropout)
        for layer in keras_conversion.inner_layers(experiment.model)
      )
    )
    self.assertEmpty(functional.find_weights(experiment.model).frozen)
    self._run(experiment)

  @parameterized.parameters(
    ('mobilenet', 'MobileNet', lambda x: x / 127.5 - 1, 0.25),
    # Its own layers rescale pixels.
    ('efficientnet_v2', 'EfficientNetV2B0', lambda x: x),
  )
  def test_frozen_weights_of_a_file(self, model, function, rescale, width=None):
    pretrained, file = self._pretrain(
      function, **({} if width is None else {'alpha': width})
    )
    experiment = self._create(
      model=model,
      weights=file,
      freeze_backbone=True,
      **({} if width is None else {'width_multiplier': width}),
    )
    # Only the last layer is sent: the features and 2 classes.
    self.assertEqual(
      [each.shape for each in experiment.classifier.initial_weights.trainable],
      [(pretrained.output_shape[-1], 2), (2,)],
    )
    self.assertEmpty(functional.find_weights(experiment.model).statistics)
    # The weights are those of the file.
    dense = experiment.model.layers[-1]
    images = _IMAGES.astype(np.float32)
    for training in (False, True):
      np.testing.assert_allclose(
        experiment.model(images, training=training),
        dense(pretrained(rescale(images))),
        rtol=1e-4,
        atol=1e-5,
      )
    folder = self._run(experiment)
    with self.assertRaisesRegex(durable_files.OutputError, 'other frozen'):
      folder.keep_frozen_weights([np.zeros(3)])


class SettingsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.task = image_task.ImageTask(
      image_shape=(_SIZE, _SIZE, 1),
      class_names=('a', 'b', 'c'),
      pixel_mean=(0.5,),
      pixel_standard_deviation=(0.2,),
      load=lambda: None,
      weak_augmentation=None,
      strong_augmentation=None,
      model_depth=7,
      model_width=1,
      num_labeled=3,
    )

  def _refuses(self, message, model, task=None):
    with self.assertRaisesRegex(ValueError, message):
      model.create(task or self.task, 0)

  def test_file_that_is_not_there(self):
    self._refuses(
      '^weights=missing.h5: ',
      keras_models.MobileNet(weights='missing.h5'),
    )

  def test_file_of_another_model(self):
    self.enter_context(small_applications.with_small_mobilenet())
    file = os.path.join(self.create_tempdir().full_path, 'other.h5')
    inputs = tf.keras.Input([3])
    tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs)).save_weights(file)
    self._refuses(
      r'^weights=.*other.h5: .*save_weights of.*MobileNet\(include_top=False\)',
      keras_models.MobileNet(weights=file, width_multiplier=0.25),
    )

  def test_download_that_fails(self):
    fetch = mock.patch(
      'urllib.request.OpenerDirector.open',
      side_effect=urllib.error.URLError('no route to host'),
    )
    home = self.create_tempdir().full_path
    cache = mock.patch.dict(os.environ, KERAS_HOME=home, HOME=home)
    with fetch, cache:
      self._refuses(
        '^weights=imagenet: ',
        keras_models.MobileNet(weights='imagenet', width_multiplier=0.25),
      )


if __name__ == '__main__':
  absltest.main()
