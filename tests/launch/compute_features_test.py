# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that computes features."""

import contextlib
import io
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from launch import compute_features
from tests.data import image_tree
from tests.launch import programs
from tests.models.frozen import small_backbone
from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.data import feature_files


class ComputeFeaturesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._backbone = self._folder / 'mine.keras'
    small_backbone.create_network().save(self._backbone)
    self._output = self._folder / 'new' / 'features.npz'

  def _run(self, **values):
    """Returns what the program prints, and the arrays that it writes."""
    values = {
      'backbone': self._backbone,
      'cache_dir': self._folder / 'cache',
      'output_file': self._output,
    } | values
    with contextlib.redirect_stderr(io.StringIO()):
      lines = programs.run(
        compute_features.main, compute_features.ComputeFeatures(), **values
      )
    with np.load(values['output_file'], allow_pickle=False) as arrays:
      return lines, dict(arrays)

  def test_computes_features_of_a_file(self):
    images = small_backbone.noise(7, 4, 4, 3)
    labels = np.arange(7)
    file = self._folder / 'images.npz'
    np.savez(file, images=images, labels=labels, more=labels)
    lines, arrays = self._run(images_file=file)
    self.assertEqual(
      lines,
      [
        f'backbone: {self._backbone}, 4x4',
        'features: 7x3',
        f'file: {self._output}',
      ],
    )
    self.assertCountEqual(arrays, ['features', 'labels'])
    self.assertEqual(arrays['features'].dtype, np.float32)
    np.testing.assert_allclose(
      arrays['features'], images.mean((1, 2)), rtol=1e-5
    )
    np.testing.assert_array_equal(arrays['labels'], labels)

  def test_folder_of_a_federation_becomes_one_file(self):
    for level, path in enumerate(
      (
        'server/cat/0.png',
        'server/dog/1.png',
        'clients/b/2.png',
        'clients/a/3.png',
        'clients/a/4.png',
        'test/dog/5.png',
      )
    ):
      image_tree.write_image(self._folder / 'photos' / path, level)
    _, arrays = self._run(photo_dir=self._folder / 'photos')
    self.assertEqual(
      {k: v.tolist() for k, v in arrays.items() if v.ndim == 1},
      {
        'labels': ['cat', 'dog'],
        'client_ids': ['a', 'a', 'b'],
        'test_labels': ['dog'],
      },
    )
    found, class_names = feature_files.read(self._output)
    self.assertEqual(class_names, ('cat', 'dog'))
    self.assertEqual([*map(len, found.shares)], [2, 1])
    (self._folder / 'photos/test/bird').mkdir()
    image_tree.write_image(
      self._folder / 'photos/test/bird/7.png',
      9,
    )
    with self.assertRaisesRegex(
      settings.SettingError, 'test/bird is no class of the server'
    ):
      self._run(
        photo_dir=self._folder / 'photos', output_file=self._folder / 'b.npz'
      )

  def test_computes_features_of_folders(self):
    for name, level in (
      ('east/a.png', 10),
      ('east/b.png', 20),
      ('north/a.png', 30),
    ):
      image_tree.write_image(self._folder / 'images' / name, level)
    folder = self._folder / 'images'
    _, arrays = self._run(image_folder=folder)
    np.testing.assert_allclose(
      arrays['features'], np.repeat([[10], [20], [30]], 3, 1), rtol=1e-5
    )
    self.assertEqual(arrays['labels'].tolist(), [0, 0, 1])
    self.assertEqual(arrays['class_names'].tolist(), ['east', 'north'])
    (folder / 'south').mkdir()
    _, arrays = self._run(image_folder=folder, folders='clients', overwrite=1)
    self.assertEqual(arrays['client_ids'].tolist(), [0, 0, 1])
    self.assertEqual(
      arrays['client_names'].tolist(), ['east', 'north', 'south']
    )

  @parameterized.parameters(
    ({}, 'give one of the flags --photo_dir, --tfds_name'),
    ({'image_folder': '/no'}, '^image_folder=/no: .*is missing'),
    ({'images_file': '/no.npz'}, '^images_file=/no.npz: .*No such file'),
    (
      {'backbone': 'resnet51'},
      '^backbone=resnet51: backbone resnet51: ',
    ),
    ({'output_file': 'a.csv'}, '^output_file=.*name a .npz file'),
  )
  def test_names_the_flag_that_is_wrong(self, values, message):
    with self.assertRaisesRegex(
      (settings.SettingError, command_line.UsageError), message
    ):
      self._run(**values)

  @parameterized.parameters(
    ({'pixels': np.zeros(3)}, 'has the arrays pixels, but no images'),
    ({'images': np.zeros((3, 4, 4, 3))}, 'has images of dtype float64'),
    (
      {'images': np.zeros((3, 4, 4, 3), np.uint8), 'labels': np.zeros(2)},
      r'has 3 images, but labels of shape \[2\]',
    ),
  )
  def test_says_what_a_file_lacks(self, arrays, message):
    file = self._folder / 'images.npz'
    np.savez(file, **arrays)
    with self.assertRaisesRegex(
      settings.SettingError, f'^images_file={file}: {message}'
    ):
      self._run(images_file=file)


if __name__ == '__main__':
  absltest.main()
