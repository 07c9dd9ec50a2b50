# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading data sets of TensorFlow Datasets, without a network."""

import contextlib
import io
import pathlib
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow_datasets as tfds

from tests.data import tfds_files
from tff_semifl.data import data_errors
from tff_semifl.experiment import tfds_task


class LoadTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(tfds_files.offline())
    self._data_dir = self.create_tempdir().full_path

  def test_reads_what_is_in_the_folder(self):
    splits = {
      'train': tfds_files.random_cifar10(30, seed=1),
      'test': tfds_files.random_cifar10(7, seed=2),
    }
    tfds_files.write_cifar10(self._data_dir, splits)

    test, train = tfds_task.load('cifar10', ['test', 'train'], self._data_dir)

    for found, written in ((train, splits['train']), (test, splits['test'])):
      self.assertEqual(found.images.dtype, np.uint8)
      self.assertEqual(found.labels.dtype, np.int32)
      np.testing.assert_array_equal(found.images, written.images)
      np.testing.assert_array_equal(found.labels, written.labels)

  def test_nothing_is_downloaded_if_it_may_not(self):
    self._fail_to_download(AssertionError)
    with self.assertRaisesRegex(
      data_errors.DataError,
      f"^data set 'cifar10' is not in {self._data_dir}$",
    ):
      tfds_task.load('cifar10', ['test'], self._data_dir, may_download=False)

  def test_prints_nothing_where_programs_print_their_results(self):
    def talk(builder):
      del builder  # Unused.
      print('Downloading and preparing')
      raise OSError('No route to host')

    self._fail_to_download(talk)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      with self.assertRaises(data_errors.DataError):
        tfds_task.load('cifar10', ['train'], self._data_dir)
    self.assertEmpty(printed.getvalue())

  def _fail_to_download(self, error):
    self.enter_context(
      mock.patch.object(
        tfds.core.DatasetBuilder,
        'download_and_prepare',
        autospec=True,
        side_effect=error,
      )
    )

  def test_says_where_it_looked_and_what_went_wrong(self):
    self._fail_to_download(OSError('No route to host\nand much more'))
    with self.assertRaises(data_errors.DataError) as raised:
      tfds_task.load('cifar10', ['train'], self._data_dir)
    message = str(raised.exception)
    self.assertStartsWith(
      message, f"data set 'cifar10' is not in {self._data_dir}"
    )
    self.assertIn('No route to host', message)
    # One line, without the further text of TFDS.
    self.assertNotIn('and much more', message)
    self.assertNotIn('\n', message)
    self.assertIsInstance(raised.exception.__cause__, OSError)


class DamagedFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(tfds_files.offline())
    folder = pathlib.Path(self.create_tempdir().full_path)
    data = tfds_files.random_cifar10(8, seed=1)
    tfds_files.write_cifar10(str(folder), {'train': data})
    [self._records] = folder.glob('*/*/*-train.*')
    self._folder = folder

  def _assert_refused(self, *parts):
    with self.assertRaises(data_errors.DataError) as raised:
      tfds_task.load('cifar10', ['train'], str(self._folder))
    message = str(raised.exception)
    self.assertNotIn('\n', message)
    for part in parts:
      self.assertIn(part, message)

  def test_message_says_what_and_what_to_do(self):
    self._records.write_bytes(self._records.read_bytes()[:-1] + b'?')
    self._assert_refused(
      'cannot be read (corrupted record at ',
      f'with {self._records.parent} removed, it would be downloaded again',
    )
    self._records.unlink()
    self._assert_refused('No such file or')

  def test_description_that_is_none(self):
    self._records.with_name('dataset_info.json').write_text('{')
    self._assert_refused('cifar10')
