# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that frozen networks of Keras train, with graphs as programs run them.

Graphs are optimized, and the networks of slow tests are whole: what
optimization breaks depends on both.
"""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tasks import image_folder
from tests import small_applications
from tests import small_digits
from tests.data import image_tree
from tff_semifl import runtime
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import keras_models
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import running
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry

_SIZE = 32
_FUNCTIONS = {
  'mobilenet': 'MobileNet',
  'mobilenet_v2': 'MobileNetV2',
  'efficientnet_v2': 'EfficientNetV2B0',
  'resnet50_v2': 'ResNet50V2',
}
_NARROW = {'mobilenet': 0.25, 'mobilenet_v2': 0.35}


class FrozenBackbonesTest(parameterized.TestCase):
  def _train(self, model):
    folder = pathlib.Path(self.create_tempdir().full_path)
    changes = {
      'model': model,
      'weights': str(folder / 'random.weights.h5'),
      'freeze_backbone': True,
      'total_rounds': 1,
      'clients_per_round': 2,
      'client_epochs': 1,
      'server_epochs': 1,
      'confidence_threshold': 0.5,
    }
    arguments = {}
    if model in _NARROW:
      changes['width_multiplier'] = arguments['alpha'] = _NARROW[model]
    getattr(tf.keras.applications, _FUNCTIONS[model])(
      include_top=False,
      pooling='avg',
      weights=None,
      input_shape=(_SIZE, _SIZE, 3),
      **arguments,
    ).save_weights(changes['weights'])
    task = image_folder.ImageFolder(
      image_dir=str(image_tree.write_tree(folder / 'photos')),
      image_size=str(_SIZE),
    )
    self.enter_context(small_digits.without_rand_augment())
    experiment = experiment_lib.create_experiment(
      experiment_settings.create(
        'semifl',
        system_registry.SYSTEMS['semifl'],
        task_registry.ChosenTask(task=task),
        changes,
      ),
      run_settings.RunSettings(output_dir=str(folder)),
    )
    before = experiment.classifier.initial_weights.trainable
    with runtime.simulation_context():
      final = running.run(
        experiment, experiment_folder.open_folder(experiment), quiet=True
      )
    self.assertEqual(final.round_num, 1)
    # The last layer, which is trained alone.
    self.assertLen(before, 2)
    for old, new in zip(
      before, final.state.global_model_weights.trainable, strict=True
    ):
      self.assertFalse(np.array_equal(old, new))

  def test_network_of_few_blocks(self):
    self.enter_context(small_applications.with_small_mobilenet())
    self._train('mobilenet')

  # The mark is inside, as the tests that are made would lack it.
  @parameterized.parameters(*sorted(keras_models.APPLICATIONS))
  @pytest.mark.slow
  def test_whole_network(self, model):
    self._train(model)


if __name__ == '__main__':
  absltest.main()
