# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of features that are computed once."""

import contextlib
import errno
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests.features import small_backbone
from tff_semifl.data import stored_images
from tff_semifl.features import feature_cache
from tff_semifl.files import durable_files

_IMAGES = small_backbone.noise(1200, 2, 2, 3)
_CHUNK = 512

_SLOWLY = """
import pathlib, sys, time
from tests.features import feature_cache_test
from tff_semifl.features import feature_cache
class Slow(feature_cache_test.FakeBackbone):
  def features(self, images):
    time.sleep(0.02)
    return super().features(images)
feature_cache.compute(
  Slow(), feature_cache_test._IMAGES, pathlib.Path(sys.argv[1]), lambda _: None
)
"""


class FakeBackbone:
  """Features of an image are the mean of all pixels and the first pixel."""

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
  """The features of images."""
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
    self.assertNotIn('computed before', ''.join(self._lines))
    self.assertIsInstance(found, np.memmap)
    with self.assertRaises(ValueError):
      found[0] = 1

  def test_writes_what_numpy_would(self):
    for number in (1, 9, 1000, 1200):
      images = _IMAGES[:number]
      found = self._compute(images=images)
      path = self._folder / 'numpy.npy'
      np.save(path, expect(images))
      self.assertEqual(
        pathlib.Path(found.filename).read_bytes(), path.read_bytes()
      )
      path.unlink()

  def test_reads_images_in_files_a_few_at_a_time(self):
    stored = stored_images.create(_IMAGES.shape)
    for number, image in enumerate(_IMAGES):
      stored[number] = image
    path = self.create_tempdir().full_path + '/images.npy'
    np.save(path, _IMAGES)
    # All threads have the same key.
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
    self.assertFalse([each for each in self._lines if 'not used' in each])
    other = FakeBackbone('e')
    self._compute(other)
    self.assertEqual(other.num_computed, 1200)
    self.assertIn(
      'features: those of the same images by fake with other weights or'
      ' preparation, or another size, are not used',
      self._lines,
    )

  def test_goes_on_after_an_interrupt(self):
    # Fails in the second chunk; the rows of the first are on the disk.
    with self.assertRaises(KeyboardInterrupt):
      self._compute(FakeBackbone(fails_after=800))
    self.assertIn('unfinished', self._file('*.npy').name)
    backbone = FakeBackbone()
    found = self._compute(backbone)
    np.testing.assert_array_equal(found, expect(_IMAGES))
    self.assertEqual(backbone.num_computed, 1200 - _CHUNK)
    self.assertIn('features: resumed after 512 of 1,200 images', self._lines)
    self.assertFalse(list(self._folder.glob('*unfinished*')))

  @pytest.mark.slow
  def test_goes_on_after_a_kill(self):
    process = subprocess.Popen(
      [sys.executable, '-c', _SLOWLY, str(self._folder)]
    )
    try:
      deadline = time.monotonic() + 60
      while not list(self._folder.glob('*.unfinished.json')):
        self.assertLess(time.monotonic(), deadline)
        time.sleep(0.01)
    finally:
      process.send_signal(signal.SIGKILL)
      process.wait()
    backbone = FakeBackbone()
    found = self._compute(backbone)
    np.testing.assert_array_equal(found, expect(_IMAGES))
    self.assertEqual(backbone.num_computed, 1200 - _CHUNK)

  def test_computes_half_written_rows_again(self):
    with self.assertRaises(KeyboardInterrupt):
      self._compute(FakeBackbone(fails_after=800))
    unfinished = self._file('*.unfinished.npy')
    content = bytearray(unfinished.read_bytes())
    content[128 + 8 * _CHUNK :] = b'\xff' * (8 * (1200 - _CHUNK))
    unfinished.write_bytes(content)
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))

  @parameterized.parameters(
    ('*.unfinished.npy', b'short'),
    ('*.unfinished.npy', None),
    ('*.unfinished.json', b'{"num_done": 9'),
    ('*.unfinished.json', b'{"num_done": 5000}'),
    ('*.unfinished.json', b'[]'),
    ('*.unfinished.json', None),
  )
  def test_begins_again_if_the_rest_is_damaged(self, pattern, content):
    with self.assertRaises(KeyboardInterrupt):
      self._compute(FakeBackbone(fails_after=800))
    path = self._file(pattern)
    if content is None:
      path.unlink()
    else:
      path.write_bytes(content)
    backbone = FakeBackbone()
    np.testing.assert_array_equal(self._compute(backbone), expect(_IMAGES))
    self.assertEqual(backbone.num_computed, 1200)

  @parameterized.parameters(0, 200, -1)
  def test_computes_damaged_features_again(self, position):
    path = pathlib.Path(self._compute().filename)
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))
    self.assertIn(
      f'features: {path} is damaged; computing them again', self._lines
    )

  def test_computes_again_without_description(self):
    self._compute()
    self._file('*.json').unlink()
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))

  def test_says_that_a_disk_is_full(self):
    with (
      mock.patch.object(
        os, 'posix_fallocate', side_effect=OSError(errno.ENOSPC, 'No space')
      ),
      self.assertRaisesRegex(
        durable_files.OutputError,
        f'^cannot write {self._folder}: No space; with this mended, the same'
        ' command goes on$',
      ),
    ):
      self._compute()
    np.testing.assert_array_equal(self._compute(), expect(_IMAGES))

  def test_waits_for_another_program(self):
    path = pathlib.Path(self._compute().filename)
    elsewhere = path.rename(self._folder / 'elsewhere')
    backbone = FakeBackbone()
    with self._file('*.lock').open('w') as file:
      fcntl.flock(file, fcntl.LOCK_EX)
      thread = threading.Thread(target=self._compute, args=[backbone])
      thread.start()
      deadline = time.monotonic() + 60
      while 'waiting' not in self._lines[-1]:
        self.assertLess(time.monotonic(), deadline)
        time.sleep(0.01)
      elsewhere.rename(path)
    thread.join()
    self.assertEqual(backbone.num_computed, 0)
    # This process knows of features that it has computed itself.
    self.assertIn('waiting', self._lines[-1])
    with mock.patch.object(feature_cache, '_COMPUTED', set()):
      self._compute()
    self.assertIn('computed before', self._lines[-1])

  def test_reads_what_is_complete_without_writing(self):
    self._compute()
    before = sorted(self._folder.iterdir())
    self._file('*.lock').unlink()
    backbone = FakeBackbone()
    with mock.patch.object(
      fcntl, 'flock', side_effect=OSError(errno.ENOLCK, 'No locks available')
    ):
      np.testing.assert_array_equal(self._compute(backbone), expect(_IMAGES))
      self.assertEqual(backbone.num_computed, 0)
      # No lock, no file that another program may be writing.
      with self.assertRaisesRegex(durable_files.OutputError, 'No locks'):
        self._compute(images=_IMAGES[:9])
    left = [path for path in before if path.suffix != '.lock']
    self.assertContainsSubset(left, self._folder.iterdir())

  @parameterized.parameters(feature_cache.compute, feature_cache.load)
  def test_a_reader_removes_no_file_that_is_being_replaced(self, read):
    path = pathlib.Path(self._compute().filename)
    path.write_bytes(b'damaged')
    with (
      mock.patch.object(fcntl, 'flock', side_effect=OSError(errno.ENOLCK, '')),
      contextlib.suppress(durable_files.OutputError),
    ):
      read(FakeBackbone(), _IMAGES, self._folder, self._lines.append)
    self.assertEqual(path.read_bytes(), b'damaged')

  def test_is_readable_by_its_user_alone(self):
    self._compute()
    self.assertEqual(self._folder.stat().st_mode & 0o777, 0o700)

  def test_refuses_other_images(self):
    for images in (
      _IMAGES.astype(np.float32),
      _IMAGES[0],
      _IMAGES[:0],
    ):
      with self.assertRaisesRegex(ValueError, 'found images of dtype'):
        self._compute(images=images)

  def test_default_folder_is_that_of_caches(self):
    with mock.patch.dict(os.environ, {'XDG_CACHE_HOME': '/caches'}):
      self.assertEqual(
        feature_cache.default_folder(),
        pathlib.Path('/caches/tff_semifl/features'),
      )

  def test_computes_what_a_backbone_does(self):
    backbone = small_backbone.create()
    found = self._compute(backbone, _IMAGES[:50])
    np.testing.assert_array_equal(found, backbone.features(_IMAGES[:50]))


if __name__ == '__main__':
  absltest.main()
