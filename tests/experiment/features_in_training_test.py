# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training on feature vectors."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tests.data import small_features
from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running

_ARRAYS = small_features.create()
_TRAIN = (_ARRAYS['features'], _ARRAYS['labels'])
_TEST = (_ARRAYS['test_features'], _ARRAYS['test_labels'])
_EPOCHS = 3


class TrainingTest(parameterized.TestCase, tf.test.TestCase):
  def test_labels_alone_take_the_steps_of_numpy(self):
    task = own_data.own_data(
      _TRAIN, _TEST, clients=[_ARRAYS['client_features']]
    )
    experiment = python_experiment.create_experiment(
      'labels_alone',
      task,
      # With one step per epoch, the order of labels does not matter.
      server_batch_size=len(_TRAIN[1]),
      total_epochs=_EPOCHS,
      learning_rate=0.4,
      output_dir=self.create_tempdir().full_path,
    )
    folder = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      final = running.run(experiment, folder, quiet=True)
    features, labels = _TRAIN
    mean, deviation = (
      np.asarray(features, np.float64).mean(axis=0),
      np.asarray(features, np.float64).std(axis=0),
    )
    # The reference divides its input by 255.
    standardized = 255 * (features - mean) / deviation
    expected = linear_reference.NumpySGD(
      [np.zeros((small_features.NUM_FEATURES, 3)), np.zeros(3)], 0.4
    )
    for epoch in range(_EPOCHS):
      expected.learning_rate = 0.2 * (1 + np.cos(np.pi * epoch / _EPOCHS))
      expected.step((1.0, standardized, labels))
    weights = final.state.global_model_weights.trainable
    for found, wanted in zip(weights, expected.weights, strict=True):
      self.assertAllClose(found, wanted, rtol=1e-5, atol=1e-6)
    logits = expected.logits(255 * (_TEST[0] - mean) / deviation)
    self.assertAllClose(
      final.accuracy, (logits.argmax(axis=1) == _TEST[1]).mean()
    )

    served = tf.saved_model.load(str(folder.export_path))
    signature = served.signatures['serving_default']
    self.assertEqual(
      signature.structured_input_signature[1],
      {
        'features': tf.TensorSpec(
          [None, small_features.NUM_FEATURES], tf.float32, 'features'
        )
      },
    )
    self.assertNotIn('serving_encoded', served.signatures)
    self.assertAllClose(
      signature(features=tf.constant(_TEST[0]))['probabilities'],
      linear_reference.softmax(logits),
      atol=1e-5,
    )

  @parameterized.named_parameters(
    (
      'model_of_images',
      'semifl',
      {'model': 'wide_resnet'},
      'model=wide_resnet: ',
    ),
    (
      'system_of_another_model',
      'fedmatch_as_in_semifl',
      {},
      'model=linear: ',
    ),
    (
      'augmentation_of_images',
      'semifl',
      {'strong_augmentation': 'semifl'},
      'strong_augmentation=semifl: ',
    ),
  )
  def test_refuses(self, system, values, message):
    task = own_data.own_data(_TRAIN, _TEST, clients=[_ARRAYS['features']])
    with self.assertRaisesRegex(settings.SettingError, message):
      python_experiment.create_experiment(system, task, **values)

  def test_linear_model_of_images(self):
    task = small_own_task.create_task()
    with small_systems.without_process('labels_alone'):
      experiment = python_experiment.create_experiment(
        'labels_alone', task, model='linear'
      )
    pixels = small_own_task.PIXELS[..., np.newaxis]
    self.assertAllClose(
      experiment.model.layers[1](pixels.astype(np.float32)),
      (pixels - pixels.mean()) / pixels.std(),
      rtol=1e-4,
      atol=1e-4,
    )


if __name__ == '__main__':
  tf.test.main()
