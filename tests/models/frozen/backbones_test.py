# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pretrained backbones: their names, networks and files."""

import functools
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
  def test_names_what_there_is(self):
    with self.assertRaisesRegex(
      backbone_lib.BackboneError,
      'mobilenetv2: there is none of this name; give efficientnet_lite0',
    ):
      backbones.load('mobilenetv2')


class ApplicationTest(absltest.TestCase):
  def test_scales_pixels_as_its_module_does(self):
    applications = tf.keras.applications
    network = applications.MobileNet(
      include_top=False, weights=None, input_shape=(32, 32, 3)
    )

    @functools.wraps(applications.MobileNet)
    def load(*, include_top, input_shape):
      self.assertEqual((include_top, input_shape), (False, (32, 32, 3)))
      return network

    with mock.patch.object(applications, 'MobileNet', load):
      backbone = backbones.load('MobileNet', image_size=(32, 32))
    images = small_backbone.noise(2, 32, 32, 3)
    # Pixels in -1 to 1.
    maps = network(images / np.float32(127.5) - 1, training=False)
    np.testing.assert_allclose(
      backbone.features(images), maps.numpy().mean((1, 2)), rtol=0, atol=1e-5
    )
    self.assertEqual(backbone.feature_dimension, 1024)
    self.assertIn('of mobilenet', backbone.preparation.description)

  def test_failed_download(self):
    with (
      mock.patch.object(
        tf.keras.utils, 'get_file', side_effect=Exception('no\nnetwork')
      ),
      self.assertRaisesRegex(
        backbone_lib.BackboneError, '^backbone MobileNet: .*~/.keras/models$'
      ),
    ):
      backbones.load('MobileNet', image_size=(32, 32))


def _change_config(path, change):
  """Changes the configuration in a Keras file."""
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

  def test_loads_a_file_with_its_own_size(self):
    small_backbone.create_network(factor=2).save(self._path)
    backbone = backbones.load_keras_file(self._path)
    self.assertEqual(backbone.image_size, (4, 4))
    images = small_backbone.noise(3, 4, 4, 3)
    np.testing.assert_allclose(
      backbone.features(images), 2 * images.mean((1, 2)), rtol=1e-5
    )
    self.assertEqual(backbone.name, str(self._path))

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
