# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the cache of features."""

import errno
import os
import pathlib
from unittest import mock

from absl.testing import parameterized
import numpy as np

from tests.models.frozen import small_backbone
from tff_semifl.data import image_storage
from tff_semifl.files import durable_files
from tff_semifl.models.frozen import feature_cache

_IMAGES = small_backbone.noise(1200, 2, 2, 3)
_CHUNK = 512


class FakeBackbone:
  """A backbone with two features: the mean pixel, and the first pixel."""

  name = 'fake'
  feature_dimension = 2

  def __init__(self, digest='d', fails_after=None):
    self.digest = digest
    self.num_computed = 0
    self.fails_after = fails_after

  def features(self, images):
    if self.fails_after is not None and self.num_computed >= self.fails_after:
      raise KeyboardInterrupt
    self.num_computed += len(images)
    return expect(images)


def expect(images):
  """The expected features of images."""
  images = np.asarray(images)
  return np.stack([images.mean((1, 2, 3)), images[:, 0, 0, 0]], 1).astype(
    np.float32
  )


class FeatureCacheTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path) / 'cache'
    self._lines = []

  def _compute(self, backbone=None, images=_IMAGES):
    return feature_cache.compute(
      backbone or FakeBackbone(), images, self._folder, self._lines.append
    )

  def _file(self, pattern):
    (file,) = self._folder.glob(pattern)
    return file

  def test_computes_once(self):
    backbone = FakeBackbone()
    for _ in range(2):
      found = self._compute(backbone)
      self.assertEqual(found.dtype, np.float32)
      np.testing.assert_array_equal(found, expect(_IMAGES))
      self.assertEqual(backbone.num_computed, 1200)

  def test_reads_images_in_files_a_few_at_a_time(self):
    stored = image_storage.create_stored(_IMAGES.shape)
    stored[:] = _IMAGES
    path = self.create_tempdir().full_path + '/images.npy'
    np.save(path, _IMAGES)
    backbone = FakeBackbone()
    for images in (stored, np.load(path, mmap_mode='r'), _IMAGES):
      np.testing.assert_array_equal(
        self._compute(backbone, images), expect(_IMAGES)
      )
    self.assertEqual(backbone.num_computed, 1200)

  def test_other_images_and_backbones_have_other_features(self):
    backbone = FakeBackbone()
    changed = _IMAGES.copy()
    changed[-1, -1, -1, -1] ^= 1
    for images in (
      _IMAGES,
      changed,
      _IMAGES[:-1],
      _IMAGES.reshape(1200, 1, 4, 3),
    ):
      before = backbone.num_computed
      self._compute(backbone, images)
      self.assertEqual(backbone.num_computed - before, len(images))
    other = FakeBackbone('e')
    self._compute(other)
    self.assertEqual(other.num_computed, 1200)

  def test_goes_on_after_an_interrupt(self):
    # Fails in the second chunk; the first chunk is on the disk.
    with self.assertRaises(KeyboardInterrupt):
      self._compute(FakeBackbone(fails_after=_CHUNK))
    backbone = FakeBackbone()
    found = self._compute(backbone)
    np.testing.assert_array_equal(found, expect(_IMAGES))
    self.assertEqual(backbone.num_computed, 1200 - _CHUNK)
    self.assertIn('features: resumed after 512 of 1,200 images', self._lines)

  def test_computes_damaged_features_again(self):
    self._compute()
    path = self._file('*/00001.npz')
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for damaged in (b'', b'damaged', content[:-50], bytes(flipped)):
      path.write_bytes(damaged)
      backbone = FakeBackbone()
      np.testing.assert_array_equal(self._compute(backbone), expect(_IMAGES))
      self.assertEqual(backbone.num_computed, _CHUNK)
      self.assertStartsWith(self._lines[-2], f'features: {path} is damaged (')
    np.savez(path, features=np.zeros([3, 2], np.float32))
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))

  def test_says_that_a_disk_is_full(self):
    with (
      mock.patch.object(
        os, 'fsync', side_effect=OSError(errno.ENOSPC, 'No space')
      ),
      self.assertRaisesRegex(
        durable_files.OutputError,
        f'^cannot write {self._folder}: No space; with this mended, the same'
        ' command goes on$',
      ),
    ):
      self._compute()
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))

  def test_reads_what_another_process_computed_without_writing(self):
    self._compute()
    with (
      mock.patch.object(feature_cache, '_COMPUTED', set()),
      mock.patch.object(pathlib.Path, 'rename', side_effect=AssertionError),
      mock.patch.object(pathlib.Path, 'mkdir', side_effect=AssertionError),
    ):
      backbone = FakeBackbone()
      np.testing.assert_array_equal(self._compute(backbone), expect(_IMAGES))
    self.assertEqual(backbone.num_computed, 0)
    self.assertIn('computed before', self._lines[-1])

  def test_is_readable_by_its_user_alone(self):
    self._compute()
    self.assertEqual(self._folder.stat().st_mode & 0o777, 0o700)
