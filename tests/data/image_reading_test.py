# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading many files."""

import os
import pathlib
import threading
from unittest import mock

from absl.testing import absltest
import numpy as np

from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_files
from tff_semifl.data import image_reading

_FORM = image_reading.ImageForm((6, 4))


class ImageReadingTest(absltest.TestCase):
  def test_files_are_decoded_by_several_threads_and_stay_in_order(self):
    barrier = threading.Barrier(2, timeout=10)

    def read_image(file, *_):
      # Two threads decode at once: each waits for the other.
      barrier.wait()
      pixels = np.full((6, 4, 3), int(file.name), np.uint8)
      return pixels, False

    with (
      mock.patch.object(os, 'sched_getaffinity', lambda _: {0, 1}),
      mock.patch.object(image_files, 'read_image', read_image),
    ):
      files = [pathlib.Path(str(number)) for number in range(20)]
      found = image_reading.read(files, _FORM, [])
    self.assertEqual(found.images[:, 0, 0, 0].tolist(), [*range(20)])


class ImageBatchesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, sizes):
    """Writes images of gray levels 0, 1, and so on."""
    files = [self._folder / f'{number}.png' for number in range(len(sizes))]
    for level, (file, size) in enumerate(zip(files, sizes, strict=True)):
      image_tree.write_image(file, level, size=size)
    return files

  def _read(self, files):
    found = []
    for paths, images in image_reading.read_batches(files, 1):
      self.assertEqual(images.dtype, np.uint8)
      levels = [int(path.stem) for path in paths]
      np.testing.assert_array_equal(images[:, 0, 0, 0], levels)
      found.append((levels, images.shape))
    return found

  def test_batches_are_of_one_size_and_in_order(self):
    files = self._write([(2, 3), (2, 3), (4, 3), (2, 3)])
    self.assertEqual(
      self._read(files),
      [([0, 1], (2, 2, 3, 1)), ([2], (1, 4, 3, 1)), ([3], (1, 2, 3, 1))],
    )

  def test_files_that_cannot_be_read(self):
    files = self._write([(2, 3)] * 4)
    for number, content in ((1, b'no image'), (3, b'')):
      files[number].write_bytes(content)
    with self.assertRaises(data_errors.DataError) as raised:
      self._read(files)
    reason = 'is no JPEG, PNG, GIF, BMP, PPM, WebP or TIFF image'
    self.assertEqual(
      str(raised.exception),
      '; '.join(f'{self._folder}/{number}.png {reason}' for number in (1, 3)),
    )
