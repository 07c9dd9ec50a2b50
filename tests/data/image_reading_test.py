# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading many files."""

import os
import pathlib
import threading
from unittest import mock

from absl.testing import absltest
import numpy as np

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
      return image_files.DecodedImage(pixels, False, False)

    with (
      mock.patch.object(os, 'sched_getaffinity', lambda _: {0, 1}),
      mock.patch.object(image_files, 'read_image', read_image),
    ):
      files = [pathlib.Path(str(number)) for number in range(20)]
      found = image_reading.read(files, _FORM, [])
    self.assertEqual(found.images[:, 0, 0, 0].tolist(), [*range(20)])

  def test_all_problems_are_named_in_order(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    files = [folder / f'bad{number:02}.png' for number in range(20)]
    for file in files:
      file.write_bytes(b'no image')
    problems = []
    image_reading.read(files, _FORM, problems)
    self.assertEqual(
      [problem.path.name for problem in problems],
      [f'bad{number:02}.png' for number in range(20)],
    )

  def test_after_an_error_nothing_else_is_begun(self):
    begun = []

    def work(number):
      begun.append(number)
      if number == 0:
        raise KeyboardInterrupt
      event.wait(0.01)

    event = threading.Event()
    with self.assertRaises(KeyboardInterrupt):
      list(image_reading.map_in_threads(work, range(10_000)))
    self.assertLess(len(begun), 1000)


if __name__ == '__main__':
  absltest.main()
