# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of users' Keras files as backbones."""

import json
import pathlib
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.features import small_backbone
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import keras_files


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
    backbone = keras_files.load(self._path, input_range='0_to_1')
    self.assertEqual(backbone.image_size, (4, 4))
    images = small_backbone.noise(3, 4, 4, 3)
    np.testing.assert_allclose(
      backbone.features(images), 2 * images.mean((1, 2)) / 255, rtol=1e-5
    )
    self.assertEqual(keras_files.load(self._path).name, str(self._path))
    self.assertNotEqual(keras_files.load(self._path).digest, backbone.digest)

  def test_chooses_the_size_of_a_network_that_takes_any(self):
    small_backbone.create_network(image_size=(None, None)).save(self._path)
    self.assertEqual(keras_files.load(self._path).image_size, (224, 224))
    backbone = keras_files.load(self._path, (6, 5))
    self.assertEqual(backbone.image_size, (6, 5))
    images = small_backbone.noise(3, 6, 5, 3)
    np.testing.assert_allclose(
      backbone.features(images), images.mean((1, 2)), rtol=1e-5
    )

  def test_refuses_another_size_and_range(self):
    small_backbone.create_network().save(self._path)
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'mine\.keras: .*\[4, 4, 3\], not \[8, 8, 3\]'
    ):
      keras_files.load(self._path, (8, 8))
    with self.assertRaisesRegex(ValueError, 'input_range'):
      keras_files.load(self._path, input_range='0_to_2')

  def test_refuses_a_lambda(self):
    tf.keras.Sequential(
      [tf.keras.Input((4, 4, 3)), tf.keras.layers.Lambda(lambda x: x)]
    ).save(self._path)
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'mine\.keras: it has a lambda'
    ):
      keras_files.load(self._path)

  def test_imports_no_module_that_a_file_names(self):
    small_backbone.create_network().save(self._path)

    def change(config):
      config['config']['layers'][1]['module'] = 'os.path'

    _change_config(self._path, change)
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, r'mine\.keras: it asks for code of os\.path;'
    ):
      keras_files.load(self._path)

  def test_refuses_what_is_no_keras_file(self):
    self._assert_refused(self._path, 'it is missing or no .keras file')
    # The HDF5 format of `model.save('mine.h5')`, whose lambdas run on loading.
    old = self._path.with_suffix('.h5')
    small_backbone.create_network().save(old)
    self._assert_refused(old, 'it is missing or no .keras file')
    self._path.write_bytes(old.read_bytes())
    self._assert_refused(self._path, 'it is missing or no .keras file')

  def test_refuses_a_damaged_file(self):
    small_backbone.create_network().save(self._path)
    _change_config(self._path, lambda config: config.pop('config'))
    self._assert_refused(self._path, 'give a functional or sequential')

  def _assert_refused(self, path, message):
    with self.assertRaisesRegex(
      backbone_lib.BackboneError, rf'^backbone {path}: .*{message}'
    ) as caught:
      keras_files.load(path)
    self.assertNotIn('\n', str(caught.exception))


if __name__ == '__main__':
  absltest.main()
