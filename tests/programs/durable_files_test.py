# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of files that are there as a whole or not at all."""

import errno
import os
import pathlib

from absl.testing import absltest
import tensorflow as tf

from tff_semifl.programs import durable_files


class DurableFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'file.txt')

  def test_file_stays_until_the_new_one_is_complete(self):
    self.path.write_text('old')
    with durable_files.replacing(self.path) as file:
      file.write(b'new')
      self.assertEqual(self.path.read_text(), 'old')
    self.assertEqual(self.path.read_text(), 'new')
    self.assertEqual(list(self.path.parent.iterdir()), [self.path])

  def test_file_stays_if_the_new_one_fails(self):
    self.path.write_text('old')
    with self.assertRaises(ZeroDivisionError):
      with durable_files.replacing(self.path) as file:
        file.write(b'new')
        raise ZeroDivisionError
    self.assertEqual(self.path.read_text(), 'old')

  def test_errors_of_python_and_of_tensorflow_name_path_and_reason(self):
    missing = str(self.path / 'missing')
    for write in (
      lambda: pathlib.Path(missing).write_text('text'),
      lambda: tf.io.write_file(missing, 'text'),
      lambda: tf.io.gfile.GFile(missing, 'w').write('text'),
    ):
      self.path.write_text('a file and no folder')
      with self.assertRaisesRegex(
        durable_files.OutputError, '^cannot write this: [^;/]*Not a directory'
      ):
        with durable_files.naming(pathlib.Path('this')):
          write()

  def test_full_disk_is_called_so(self):
    with self.assertRaisesRegex(
      durable_files.OutputError, '^cannot write this: No space left on device;'
    ):
      with durable_files.naming(pathlib.Path('this')):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  def test_other_errors_are_left_alone(self):
    with self.assertRaises(ZeroDivisionError):
      with durable_files.naming(self.path):
        raise ZeroDivisionError


if __name__ == '__main__':
  absltest.main()
