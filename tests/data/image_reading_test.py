# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading many files, and of decoded images that are kept."""

import os
import pathlib
import threading
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image

from tff_semifl.data import decoded_images
from tff_semifl.data import image_files
from tff_semifl.data import image_reading

_FORM = image_reading.ImageForm((6, 4))


def _decode(file, form):
  return image_files.read_image(
    file, form.shape, form.on_odd_size, form.background
  ).pixels


class ImageReadingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self.enter_context(
      mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self._folder / 'cache'))
    )
    # Noise takes as many bytes in a file: large and transparent, and small.
    self._large = [self._folder / f'{name}.png' for name in 'ab']
    for seed, file in enumerate(self._large):
      self._write(file, seed)
    self._small = self._folder / 'small.png'
    self._write(self._small, 2, size=20)
    self._files = [*self._large, self._small]

  def _write(self, file, seed, size=250):
    pixels = np.random.default_rng(seed).integers(
      256, size=(size, size, 4), dtype=np.uint8
    )
    PIL.Image.fromarray(pixels).save(file)

  def _read(self, form=_FORM, files=None):
    """Returns images, and the names of the files that were decoded."""
    decoded = []

    def read_image(file, *args):
      decoded.append(file.name)
      return read(file, *args)

    read = image_files.read_image
    problems = []
    with (
      mock.patch.object(image_files, 'read_image', read_image),
      decoded_images.DecodedImages() as store,
    ):
      found = image_reading.read(
        files or self._files, form, problems, store=store
      )
    self.assertEmpty(problems)
    self.assertEqual((found.num_resized, found.num_transparent), (3, 3))
    return found.images, sorted(decoded)

  def test_images_of_large_files_are_kept(self):
    expected = [_decode(f, _FORM) for f in self._files]
    images, decoded = self._read()
    np.testing.assert_array_equal(images, expected)
    self.assertEqual(decoded, ['a.png', 'b.png', 'small.png'])
    images, decoded = self._read()
    np.testing.assert_array_equal(images, expected)
    self.assertEqual(decoded, ['small.png'])
    # Other users cannot read the files.
    mode = decoded_images.path().parent.stat().st_mode
    self.assertEqual(mode & 0o077, 0)

  def test_changed_file_is_read_again(self):
    self._read()
    before = self._large[1].stat()
    # The changed file has the old size and time.
    self._write(self._large[1], 5)
    content = self._large[1].read_bytes()
    self._large[1].write_bytes(content.ljust(before.st_size, b'.'))
    os.truncate(self._large[1], before.st_size)
    os.utime(self._large[1], ns=(before.st_atime_ns, before.st_mtime_ns))
    self.assertEqual(self._large[1].stat().st_size, before.st_size)
    images, decoded = self._read()
    self.assertEqual(decoded, ['b.png', 'small.png'])
    np.testing.assert_array_equal(images[1], _decode(self._large[1], _FORM))

  @parameterized.parameters(
    {'size': (4, 6)}, {'num_channels': 1}, {'background': (0, 0, 0)}
  )
  def test_other_form_is_read_again(self, **changes):
    self._read()
    form = _FORM._replace(**changes)
    images, decoded = self._read(form)
    self.assertLen(decoded, 3)
    np.testing.assert_array_equal(
      images, [_decode(f, form) for f in self._files]
    )

  def test_what_is_wrong_with_the_place_is_no_error(self):
    expected, _ = self._read()
    database = decoded_images.path()
    for content in (b'no database' * 1000, None):
      database.unlink()
      if content is None:
        database.mkdir()
      else:
        database.write_bytes(content)
      images, decoded = self._read()
      np.testing.assert_array_equal(images, expected)
      self.assertLen(decoded, 3)

  def test_nothing_is_kept_unless_asked_for(self):
    image_reading.read(self._files, _FORM, [])
    self.assertFalse(decoded_images.path().parent.exists())
    image_reading.read(
      [self._small], _FORM, [], store=decoded_images.DecodedImages()
    )
    self.assertFalse(decoded_images.path().parent.exists())

  def test_room_is_limited(self):
    with mock.patch.object(decoded_images, '_MAX_BYTES', 2**14):
      files = []
      for seed in range(3):
        files.append(self._folder / f'more{seed}.png')
        self._write(files[-1], seed)
      form = _FORM._replace(size=(80, 80))
      self._read(form, files)
      # The next one begins anew.
      _, decoded = self._read(form, files)
      self.assertLen(decoded, 3)

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
    for number in range(20):
      (self._folder / f'bad{number:02}.png').write_bytes(b'no image')
    files = sorted([*self._folder.glob('*.png')])
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
