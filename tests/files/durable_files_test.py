# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of files that are complete or absent, and of their arrays."""

import collections
import os
import pathlib
from typing import Any, NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
import attrs
import numpy as np
import tensorflow as tf
import tree

from tff_semifl.files import durable_files


class DurableFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'file.txt')

  def test_file_stays_until_the_new_one_is_complete(self):
    self.path.write_text('old')
    with self.assertRaises(ZeroDivisionError):
      with durable_files.replacing(self.path) as file:
        file.write(b'new')
        raise ZeroDivisionError
    self.assertEqual(self.path.read_text(), 'old')
    with durable_files.replacing(self.path) as file:
      file.write(b'new')
      self.assertEqual(self.path.read_text(), 'old')
    self.assertEqual(self.path.read_text(), 'new')
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

  def test_link_to_a_folder_stays_one(self):
    folder = self.path.parent / 'disk' / 'folder'
    folder.mkdir(parents=True)
    link = self.path.parent / 'link'
    link.symlink_to(folder)
    # A file as an earlier version of this project left it.
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


class _State(NamedTuple):
  weights: Any
  aggregator: Any


@attrs.define
class _Query:
  norm: Any


_STRUCTURE = _State(
  weights=(np.eye(2, 3, dtype=np.float32), [tf.constant(3, tf.int64)]),
  aggregator=collections.OrderedDict(
    z=_Query(np.float64(np.nan)),
    name=b'gaussian',
    a=((), {'b/c': True}),
    empty=np.zeros([0, 4], np.uint8),
  ),
)


class ArrayFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, '1.npz')

  def test_structure_comes_back_as_it_was(self):
    durable_files.write_arrays(self.path, _STRUCTURE)
    other = tree.map_structure(lambda leaf: np.zeros_like(leaf)[()], _STRUCTURE)
    found = durable_files.pack_as(other, durable_files.read_arrays(self.path))
    tree.assert_same_structure(found, _STRUCTURE)
    for a, b in zip(tree.flatten(found), tree.flatten(_STRUCTURE), strict=True):
      np.testing.assert_array_equal(a, b)
      self.assertEqual(a.dtype, np.asarray(b).dtype)

  @parameterized.parameters(
    ({'a': 'text'}, "'text' as 'a'"),
    ({'a': None}, "None as 'a'"),
    ({'a': b'x\0'}, r"b'x.x00' as 'a'"),
    ([tf.ones([1], tf.bfloat16)], "dtype=bfloat16.* as '0'"),
  )
  def test_what_numpy_would_not_keep_is_refused(self, structure, message):
    with self.assertRaisesRegex(TypeError, f'(?s)found .*{message}'):
      durable_files.write_arrays(self.path, structure)
    self.assertEmpty(os.listdir(self.path.parent))

  def test_array_that_is_said_to_be_short_is_damaged(self):
    durable_files.write_arrays(self.path, {'a': np.arange(2000)})
    content = self.path.read_bytes()
    self.assertEqual(content.count(b'(2000,)'), 1)
    self.path.write_bytes(content.replace(b'(2000,)', b'(1000,)'))
    with self.assertRaisesRegex(durable_files.DamagedFileError, "'a.npy'"):
      durable_files.read_arrays(self.path)


if __name__ == '__main__':
  absltest.main()
