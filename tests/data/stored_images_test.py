# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that images on disk behave like an array."""

import errno
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.data import stored_images

_IMAGES = np.random.default_rng(0).integers(
  256, size=(7, 3, 2, 3), dtype=np.uint8
)


def _store(images):
  stored = stored_images.create(images.shape)
  for number, image in enumerate(images):
    stored[number] = image
  return stored


class StoredImagesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('some', slice(2, 5)),
    ('indices', np.array([6, 0, 0, -1])),
    ('mask', np.arange(7) % 2 == 0),
  )
  def test_rows_are_those_of_an_array(self, key):
    stored, expected = _store(_IMAGES)[key], _IMAGES[key]
    self.assertIsInstance(stored, stored_images.StoredImages)
    self.assertEqual(stored.shape, expected.shape)
    self.assertLen(stored, len(expected))
    np.testing.assert_array_equal(np.asarray(stored), expected)
    # A slice of a selection.
    np.testing.assert_array_equal(stored[::-1], expected[::-1])

  def test_writing_to_rows(self):
    stored = _store(_IMAGES)
    # A row of a slice; the new pixels are not contiguous.
    stored[4:][1] = _IMAGES[0][::-1]
    expected = np.stack([_IMAGES[4], _IMAGES[0][::-1], _IMAGES[6]])
    np.testing.assert_array_equal(stored[4:], expected)

  def test_file_is_where_asked_for_and_leaves_nothing(self):
    folder = self.create_tempdir().full_path
    with mock.patch.dict(os.environ, TMPDIR=folder):
      stored = _store(_IMAGES)
    path = pathlib.Path(f'/proc/self/fd/{stored._file.fileno()}')
    self.assertStartsWith(os.readlink(path), folder)
    self.assertEmpty(os.listdir(folder))
    part = stored[3:]
    del stored
    np.testing.assert_array_equal(part, _IMAGES[3:])
    del part
    self.assertFalse(path.exists())

  def test_clients_are_given_theirs(self):
    pool = sources.ImagePool(_store(_IMAGES), np.zeros(7, np.int32))
    population = pipelines.ClientPopulation(
      pool, [np.array([2, 0])], clients_per_round=1, seed=0
    )
    [dataset] = population.datasets(1)
    [chunk] = dataset.as_numpy_iterator()
    np.testing.assert_array_equal(chunk['image'], _IMAGES[[2, 0]])

  def test_images_of_a_worker(self):
    labels = np.zeros(7, np.int32)
    mapped = mapped_images.MappedImages(
      [
        sources.LabeledImages(_IMAGES, labels),
        sources.ImagePool(_store(_IMAGES)[::-1], labels),
      ]
    )
    for reference, expected in zip(
      mapped.references, (_IMAGES, _IMAGES[::-1]), strict=True
    ):
      np.testing.assert_array_equal(mapped.read(reference.images), expected)


class FolderTest(absltest.TestCase):
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
    # Three images of 16x16 in color.
    size = 3 * 16 * 16 * 3
    in_memory, on_disk = self._read(size), self._read(size - 1)
    self.assertEqual(in_memory.files, on_disk.files)
    self.assertIsInstance(in_memory.unlabeled, np.ndarray)
    self.assertIsInstance(on_disk.unlabeled, stored_images.StoredImages)
    self.assertIsInstance(on_disk.labeled.images, np.ndarray)
    np.testing.assert_array_equal(on_disk.unlabeled, in_memory.unlabeled)

  def test_disk_without_room(self):
    full = OSError(errno.ENOSPC, 'No space left on device')
    with (
      mock.patch.object(os, 'posix_fallocate', side_effect=full),
      self.assertRaisesRegex(
        data_errors.DataError,
        r'^3 images of 16x16 are 0.0 GB, .* no room in \S+ \(No space left on'
        r' device\); name .* TMPDIR, or choose a smaller image_size$',
      ),
    ):
      self._read(0)


if __name__ == '__main__':
  absltest.main()
