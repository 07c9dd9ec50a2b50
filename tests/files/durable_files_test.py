# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of files that are there as a whole or not at all."""

import pathlib

from absl.testing import absltest
import tensorflow as tf

from tff_semifl.files import durable_files


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
    self.assertEqual(list(self.path.parent.iterdir()), [self.path])

  def test_folder_stays_until_the_new_one_is_complete(self):
    folder = self.path.parent / 'folder'
    for text in ('first', 'second'):
      with durable_files.replacing_folder(folder) as new:
        (new / 'inner').mkdir()
        (new / 'inner' / text).write_text(text)
        self.assertEqual(folder.exists(), text == 'second')
      self.assertEqual(
        [path.name for path in folder.rglob('*')], ['inner', text]
      )
      self.assertEqual(list(folder.parent.iterdir()), [folder])

  def test_folder_stays_if_the_new_one_fails(self):
    folder = self.path.parent / 'folder'
    folder.mkdir()
    (folder / 'old').touch()
    with self.assertRaises(ZeroDivisionError):
      with durable_files.replacing_folder(folder) as new:
        (new / 'new').touch()
        raise ZeroDivisionError
    self.assertEqual([path.name for path in folder.iterdir()], ['old'])
    self.assertEqual(list(folder.parent.iterdir()), [folder])

  def test_what_a_kill_left_of_a_folder_is_no_hindrance(self):
    folder = self.path.parent / 'folder'
    for name in ('folder.temporary', 'folder.replaced'):
      (folder.parent / name).mkdir()
      (folder.parent / name / 'rubbish').touch()
    with durable_files.replacing_folder(folder) as new:
      (new / 'new').touch()
    self.assertEqual(list(folder.parent.iterdir()), [folder])
    self.assertEqual([path.name for path in folder.iterdir()], ['new'])

  def test_link_to_a_folder_stays_one(self):
    folder = self.path.parent / 'disk' / 'folder'
    folder.mkdir(parents=True)
    link = self.path.parent / 'link'
    link.symlink_to(folder)
    # As an earlier version of this project left it.
    folder.with_name('folder.replaced').symlink_to(self.path.parent)
    for name in ('first', 'second'):
      with durable_files.replacing_folder(link) as new:
        (new / name).touch()
      self.assertTrue(link.is_symlink())
      self.assertEqual([path.name for path in folder.iterdir()], [name])
    self.assertEqual(list(folder.parent.iterdir()), [folder])

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

  def test_other_errors_are_left_alone(self):
    with self.assertRaises(ZeroDivisionError):
      with durable_files.naming(self.path):
        raise ZeroDivisionError


if __name__ == '__main__':
  absltest.main()
