# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of backbones of Keras Applications and KerasCV."""

import json
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.features import small_backbone
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import backbones
from tff_semifl.features import quiet_keras_cv


class ApplicationTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def test_takes_weights_and_preprocessing(self):
    tf.keras.utils.set_random_seed(0)
    network = tf.keras.applications.MobileNet(
      include_top=False, weights=None, input_shape=(32, 32, 3)
    )
    path = str(self._folder / 'weights.h5')
    network.save_weights(path)
    backbone = backbones.load_application('MobileNet', (32, 32), path)
    images = small_backbone.noise(2, 32, 32, 3)
    # From -1 to 1.
    maps = network(images / np.float32(127.5) - 1, training=False)
    np.testing.assert_allclose(
      backbone.features(images), maps.numpy().mean((1, 2)), rtol=0, atol=1e-5
    )
    self.assertEqual(backbone.feature_dimension, 1024)
    self.assertIn('of mobilenet', backbone.preparation.description)

  def test_says_what_to_do_without_network(self):
    with (
      mock.patch.object(
        tf.keras.applications,
        'MobileNetV2',
        side_effect=Exception('URL fetch failure on https://a.test'),
      ),
      self.assertRaisesRegex(
        backbone_lib.BackboneError,
        r'^backbone MobileNetV2 with weights imagenet: URL fetch failure.*copy'
        r' the file to ~/\.keras/models, or name it as weights$',
      ),
    ):
      backbones.load_application('MobileNetV2', (32, 32))

  def test_refuses_wrong_weights(self):
    path = self._folder / 'weights.h5'
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'weights\.h5 is missing'
    ):
      backbones.load_application('MobileNet', (32, 32), str(path))
    path.write_bytes(b'abc')
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'weights\.h5: .*; give what save_weights of'
    ) as caught:
      backbones.load_application('MobileNet', (32, 32), str(path))
    self.assertNotIn('\n', str(caught.exception))


class KerasCVTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    network = quiet_keras_cv.load().models.ResNetBackbone(
      stackwise_filters=[64],
      stackwise_blocks=[1],
      stackwise_strides=[1],
      include_rescaling=True,
      block_type='basic_block',
      input_shape=(32, 32, 3),
    )
    self._network = tf.keras.Model(network.inputs, network.outputs)
    self._config = tf.keras.saving.serialize_keras_object(network)
    self._config.pop('build_config', None)
    self._config['weights'] = 'model.weights.h5'
    # KerasCV loads presets without this property, in which TensorFlow 2.14
    # differs from the Keras that wrote them.
    functional = next(
      each for each in type(network).__mro__ if each.__name__ == 'Functional'
    )
    with mock.patch.object(functional, '_layer_checkpoint_dependencies', {}):
      network.save_weights(self._folder / 'model.weights.h5')
    self._write()

  def _write(self):
    (self._folder / 'config.json').write_text(json.dumps(self._config))

  def test_loads_the_folder_of_a_preset(self):
    name = str(self._folder)
    self.assertTrue(backbones.is_keras_cv(name))
    backbone = backbones.load_keras_cv(name, (32, 32))
    images = small_backbone.noise(2, 32, 32, 3)
    expected = self._network(np.float32(images), training=False)
    np.testing.assert_allclose(
      backbone.features(images),
      expected.numpy().mean((1, 2)),
      rtol=0,
      atol=1e-5,
    )
    self.assertEqual(
      backbones.load_keras_cv(name, (64, 64)).image_size, (64, 64)
    )

  def test_knows_presets_by_name(self):
    self.assertTrue(backbones.is_keras_cv('efficientnetv2_b0_imagenet'))
    self.assertFalse(backbones.is_keras_cv('efficientnetv9'))

  def test_refuses_a_preset_without_weights_or_with_other_code(self):
    self._config['weights'] = None
    self._write()
    self._assert_refused('it has no weights')
    self._config['config']['activation'] = {'module': 'os', 'class_name': 'a'}
    self._write()
    self._assert_refused('it asks for code of os')

  def _assert_refused(self, message):
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, f'^backbone {self._folder} of.*{message};'
    ):
      backbones.load_keras_cv(str(self._folder), (32, 32))


if __name__ == '__main__':
  absltest.main()
