# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pretrained backbones: their names, networks and files."""

import json
import pathlib
from unittest import mock
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.models.frozen import small_backbone
from tff_semifl.models.frozen import backbone as backbone_lib
from tff_semifl.models.frozen import backbones


class BackbonesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('mobilenetv2', r'mobilenetv2: .*\(did you mean MobileNetV2\?\)'),
    ('efficientnet_lite', r'\(did you mean efficientnet_lite0\?\)'),
    ('/tmp/no/folder', r'there is none of this name; give efficientnet_lite0'),
  )
  def test_names_what_there_is(self, name, message):
    with self.assertRaisesRegex(backbone_lib.BackboneError, message):
      backbones.load(name)

  @parameterized.parameters(
    ('efficientnet_lite0', 'weights', 'imagenet'),
    ('efficientnet_lite0', 'input_range', '0_to_1'),
    ('MobileNetV2', 'input_range', '0_to_1'),
    ('mine.keras', 'weights', 'imagenet'),
  )
  def test_refuses_what_would_be_ignored(self, name, argument, value):
    with self.assertRaisesRegex(
      ValueError,
      f"^{argument}: found '{value}', but {name} has its own; leave it out$",
    ):
      backbones.load(name, **{argument: value})


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

  def test_refuses_wrong_weights(self):
    path = self._folder / 'weights.h5'
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'weights\.h5 is missing'
    ):
      backbones.load_application('MobileNet', (32, 32), str(path))
    path.write_bytes(b'abc')
    with self.assertRaisesRegex(
      backbone_lib.BackboneError,
      r'weights\.h5: .*; give the file of save_weights of',
    ) as caught:
      backbones.load_application('MobileNet', (32, 32), str(path))
    self.assertNotIn('\n', str(caught.exception))


class KerasCVTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    network = backbone_lib.import_keras_cv().models.ResNetBackbone(
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


def _change_config(path, change):
  """Changes the configuration in a file."""
  with zipfile.ZipFile(path) as archive:
    contents = {name: archive.read(name) for name in archive.namelist()}
  config = json.loads(contents['config.json'])
  change(config)
  contents['config.json'] = json.dumps(config).encode()
  with zipfile.ZipFile(path, 'w') as archive:
    for name, content in contents.items():
      archive.writestr(name, content)


class KerasFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path) / 'mine.keras'

  def test_loads_a_file_with_its_own_size_and_range(self):
    small_backbone.create_network(factor=2).save(self._path)
    backbone = backbones.load_keras_file(self._path, input_range='0_to_1')
    self.assertEqual(backbone.image_size, (4, 4))
    images = small_backbone.noise(3, 4, 4, 3)
    np.testing.assert_allclose(
      backbone.features(images), 2 * images.mean((1, 2)) / 255, rtol=1e-5
    )
    self.assertEqual(
      backbones.load_keras_file(self._path).name, str(self._path)
    )
    self.assertNotEqual(
      backbones.load_keras_file(self._path).digest, backbone.digest
    )

  def test_chooses_the_size_of_a_network_that_takes_any(self):
    small_backbone.create_network(image_size=(None, None)).save(self._path)
    self.assertEqual(
      backbones.load_keras_file(self._path).image_size, (224, 224)
    )
    backbone = backbones.load_keras_file(self._path, (6, 5))
    self.assertEqual(backbone.image_size, (6, 5))
    images = small_backbone.noise(3, 6, 5, 3)
    np.testing.assert_allclose(
      backbone.features(images), images.mean((1, 2)), rtol=1e-5
    )

  def test_refuses_a_lambda(self):
    tf.keras.Sequential(
      [tf.keras.Input((4, 4, 3)), tf.keras.layers.Lambda(lambda x: x)]
    ).save(self._path)
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'mine\.keras: it has a lambda'
    ):
      backbones.load_keras_file(self._path)

  def test_imports_no_module_that_a_file_names(self):
    small_backbone.create_network().save(self._path)

    def change(config):
      config['config']['layers'][1]['module'] = 'os.path'

    _change_config(self._path, change)
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'mine\.keras: it asks for code of os\.path;'
    ):
      backbones.load_keras_file(self._path)

  def test_refuses_what_is_no_keras_file(self):
    self._assert_refused(self._path, 'it is missing or no .keras file')
    # The HDF5 format of `model.save('mine.h5')`, whose lambdas run on loading.
    old = self._path.with_suffix('.h5')
    small_backbone.create_network().save(old)
    self._assert_refused(old, 'it is missing or no .keras file')
    self._path.write_bytes(old.read_bytes())
    self._assert_refused(self._path, 'it is missing or no .keras file')

  def _assert_refused(self, path, message):
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, rf'^backbone {path}: .*{message}'
    ) as caught:
      backbones.load_keras_file(path)
    self.assertNotIn('\n', str(caught.exception))


if __name__ == '__main__':
  absltest.main()
