# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of images in memory, in files, and at sites."""

import errno
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.data import image_tree
from tests.data import tfds_files
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading
from tff_semifl.data import image_storage
from tff_semifl.data import own_images
from tff_semifl.data import sources
from tff_semifl.runtime import sites

_IMAGES = np.random.default_rng(0).integers(
  256, size=(7, 3, 2, 3), dtype=np.uint8
)
_FEATURES = np.random.default_rng(0).standard_normal((7, 5), np.float32)
_NAMES = ('east', 'north', 'west')


def _store(images):
  stored = image_storage.create_stored(images.shape)
  stored[:] = images
  return stored


class ExampleKindsTest(parameterized.TestCase):
  @parameterized.parameters(
    ((8, 6, 3), sources.IMAGES, np.uint8),
    ((5,), sources.FEATURES, np.float32),
  )
  def test_follow_from_the_shape(self, shape, kind, dtype):
    self.assertIs(sources.kind_of(shape), kind)
    noise = kind.draw_noise(np.random.default_rng(0), (4, *shape))
    self.assertEqual(noise.shape, (4, *shape))
    self.assertEqual(noise.dtype, dtype)

  def test_others_are_refused(self):
    with self.assertRaisesRegex(ValueError, r'found examples of shape \(4, 5'):
      sources.kind_of((4, 5))


class LabeledImagesTest(absltest.TestCase):
  def test_batches(self):
    data = tfds_files.random_cifar10(5, seed=0)
    batches = list(data.batches(2))
    self.assertEqual([len(batch.labels) for batch in batches], [2, 2, 1])
    for whole, parts in zip(data, zip(*batches, strict=True), strict=True):
      np.testing.assert_array_equal(whole, np.concatenate(parts))

  def test_equal_images_have_equal_hashes(self):
    for examples in (_IMAGES, _FEATURES, _store(_IMAGES)):
      hashes = sources.hash_images(examples[np.array([3, 1, 3])])
      self.assertEqual(hashes[0], hashes[2])
      self.assertNotEqual(hashes[0], hashes[1])

  def test_pixels_are_measured_as_numpy_does(self):
    images = tfds_files.random_cifar10(20, seed=0).images
    mean, standard_deviation = own_images.measure_pixels(images)
    scaled = images / 255
    np.testing.assert_allclose(mean, scaled.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(standard_deviation, scaled.std(axis=(0, 1, 2)))
    images = np.full([2, 3, 3, 1], 51, np.uint8)
    # 51 of 255 is a fifth; the least deviation is one gray level.
    np.testing.assert_allclose(
      own_images.measure_pixels(images), [[0.2], [1 / 255]]
    )


class StoredImagesTest(absltest.TestCase):
  def test_file_is_where_asked_for_and_leaves_nothing(self):
    folder = self.create_tempdir().full_path
    with mock.patch.dict(os.environ, TMPDIR=folder):
      stored = _store(_IMAGES)
    path = pathlib.Path(stored.filename)
    self.assertStartsWith(os.readlink(path), folder)
    self.assertEqual(path.read_bytes(), _IMAGES.tobytes())
    self.assertEmpty(os.listdir(folder))
    part = stored[3:]
    del stored
    np.testing.assert_array_equal(part, _IMAGES[3:])
    del part
    self.assertFalse(path.exists())

  def test_selected_images_stay_in_a_file(self):
    labels = np.arange(7)
    indices = np.array([6, 0, 3, 4])
    with mock.patch.object(sources, '_BATCH_SIZE', 3):
      found = sources.ImagePool(_store(_IMAGES), labels).select(indices)
    self.assertIsInstance(found.images, np.memmap)
    np.testing.assert_array_equal(found.images, _IMAGES[indices])
    np.testing.assert_array_equal(found.true_labels, indices)
    self.assertEmpty(found.select(np.arange(0)).images)


class FolderOnDiskTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    image_tree.write_tree(pathlib.Path(self.root))

  def _read(self, max_bytes):
    return image_folders.read_image_folders(
      self.root,
      image_reading.ImageForm(None),
      max_bytes_in_memory=max_bytes,
    )

  def test_images_are_the_same(self):
    size = 3 * 16 * 16 * 3
    in_memory, on_disk = self._read(size), self._read(size - 1)
    self.assertEqual(in_memory.files, on_disk.files)
    self.assertIsInstance(in_memory.unlabeled, np.ndarray)
    self.assertIsInstance(on_disk.unlabeled, np.memmap)
    self.assertIsInstance(on_disk.labeled.images, np.ndarray)
    np.testing.assert_array_equal(on_disk.unlabeled, in_memory.unlabeled)

  def test_disk_without_room(self):
    full = OSError(errno.ENOSPC, 'No space left on device')
    with (
      mock.patch.object(os, 'posix_fallocate', side_effect=full),
      self.assertRaisesRegex(
        data_errors.DataError,
        r'^3 images of 16x16 .* no room in \S+ \(No space left on device\)',
      ),
    ):
      self._read(0)


class SiteImagesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.images = image_storage.SiteImages(_NAMES, (4, 3, 1))

  def test_rows_are_sites(self):
    self.assertLen(self.images, 3)
    self.assertEqual(self.images.shape, (3, 4, 3, 1))
    for key in (slice(1, None), np.array([2, 0]), np.array([], int)):
      found = self.images[key]
      self.assertEqual(found.names, tuple(np.array(_NAMES)[key]))
      self.assertEqual(found.shape, (len(found), 4, 3, 1))

  def test_nobody_here_reads_them(self):
    for read in (np.asarray, np.ascontiguousarray, tf.constant):
      with self.assertRaisesRegex(
        data_errors.DataError, 'the images stay at the sites'
      ):
        read(self.images)

  def test_names(self):
    for name in ('a', 'site_3', 'St.-Mary', '3', 'x' * 64):
      self.assertTrue(sites.is_name(name), name)
    for name in ('', '-a', 'a b', 'a/b', 'ä', 'a,b', 'a"', 'x' * 65, 'a\n'):
      self.assertFalse(sites.is_name(name), name)
