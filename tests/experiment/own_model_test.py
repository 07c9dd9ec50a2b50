# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that users' Keras models are trained, exported and restored."""

import functools
import pathlib
import sys
import textwrap
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tasks import image_folder
from tests import small_digits
from tests.data import image_tree
from tff_semifl import runtime
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import chosen_models
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.export import tflite
from tff_semifl.files import durable_files
from tff_semifl.models import functional

_SIZE = 32
_IMAGES = np.random.default_rng(0).integers(
  256, size=(3, _SIZE, _SIZE, 3), dtype=np.uint8
)


def _create_outside(task, seed):
  """Creates a nested model with normalization, half of it frozen."""
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


class TrainingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    outside = types.ModuleType('outside')
    outside.model = _create_outside
    self.enter_context(mock.patch.dict(sys.modules, outside=outside))
    self.enter_context(small_digits.without_rand_augment())

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
    """Trains; returns the classifier's weights before and after."""
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
    exported = tflite.load(folder.export_path)
    np.testing.assert_allclose(
      exported.predict(_IMAGES),
      tf.nn.softmax(experiment.model(_IMAGES.astype(np.float32))),
      atol=1e-5,
    )
    return folder

  @parameterized.parameters('static_batch', 'group')
  def test_outside_model(self, normalization):
    experiment = self._create(
      model='outside:model', normalization=normalization
    )
    kinds = functional.find_weights(experiment.model)
    self.assertLen(kinds.frozen, 2 + 4)
    self.assertLen(kinds.statistics, 2 if normalization != 'group' else 0)
    folder = self._run(experiment)
    # A new model with the folder's weights equals the trained model.
    model = experiment.settings.model.model.create(experiment.task, 7)
    trained = saved_experiment.read_trained_model(folder.path)
    functional.find_weights(model).assign(
      trained.weights, trained.frozen_weights
    )
    images = _IMAGES.astype(np.float32)
    np.testing.assert_array_equal(model(images), experiment.model(images))
    with self.assertRaisesRegex(durable_files.OutputError, 'other frozen'):
      checkpoints.keep_frozen_weights(folder.path, [np.zeros(3)])


class DocumentTest(absltest.TestCase):
  def test_pretrained_backbone_is_trained(self):
    text = (pathlib.Path(__file__).parents[2] / 'docs/models.md').read_text()
    begin = text.index('    import tensorflow as tf  # my_models.py')
    source = text[begin : text.index('The module and the function', begin)]
    names = {}
    exec(textwrap.dedent(source), names)
    create = functools.partial(
      tf.keras.applications.MobileNetV2, alpha=0.35, weights=None
    )
    with mock.patch.object(tf.keras.applications, 'MobileNetV2', create):
      model = chosen_models.FunctionModel(
        reference='my_models:mobilenet', function=names['mobilenet']
      ).create(
        types.SimpleNamespace(image_shape=(32, 32, 3), num_classes=3), seed=0
      )
    found = functional.find_weights(model)
    # 52 convolutions, as many normalizations, and the last layer.
    self.assertLen(found.trainable, 52 + 2 * 52 + 2)
    self.assertLen(found.statistics, 2 * 52)
    self.assertEmpty(found.frozen)
    classifier = functional.from_keras(model)
    logits = classifier.logits(
      classifier.initial_weights, _IMAGES.astype(np.float32)
    )
    np.testing.assert_allclose(logits, model(_IMAGES), rtol=1e-3, atol=1e-4)


if __name__ == '__main__':
  absltest.main()
