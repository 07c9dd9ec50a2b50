# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that computes features."""

import contextlib
import io
import pathlib

from absl.testing import absltest
import numpy as np

from launch import compute_features
from tests.data import image_tree
from tests.launch import programs
from tests.models.frozen import small_backbone
from tff_semifl import settings
from tff_semifl.data import feature_files


class ComputeFeaturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._output = self._folder / 'new' / 'features.npz'

  def _run(self, **values):
    backbone = self._folder / 'mine.keras'
    if not backbone.exists():
      small_backbone.create_network().save(backbone)
    values = {
      'model': f'frozen:{backbone}',
      'feature_cache': self._folder / 'cache',
      'output_file': self._output,
    } | values
    with contextlib.redirect_stderr(io.StringIO()):
      return programs.run(
        compute_features.main, compute_features.ComputeFeatures(), **values
      )

  def test_folder_becomes_a_file_to_train_on(self):
    tree = image_tree.write_tree(self._folder / 'photos')
    lines = self._run(task='image_folder', image_dir=tree)
    self.assertEqual(lines[-1], f'file: {self._output}')
    data, class_names = feature_files.read(self._output)
    self.assertEqual(class_names, ('cat', 'dog'))
    # The features are the means of channels, of images with one level.
    for name in ('server/cat', 'server/dog', 'test/dog'):
      self.assertTrue((tree / name).exists())
    self.assertEqual(data.train.images.shape, (4, 3))
    np.testing.assert_allclose(
      np.ptp(data.train.images, axis=1), np.zeros(4), atol=1e-4
    )
    self.assertEqual(len(data.test.labels), 3)
    self.assertEqual([*map(len, data.shares)], [2, 1])

  def test_file_that_is_none(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^output_file=a.csv: name a .npz file'
    ):
      self._run(task='digits', output_file='a.csv')
