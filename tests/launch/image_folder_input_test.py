# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of error messages for unusable folders of images."""

import pathlib
import shutil

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.data import image_tree
from tff_semifl.cli import command_line
from tff_semifl.cli import commands
from tff_semifl.cli import program


class ImageFolderInputTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._images = image_tree.write_tree(folder / 'photos')

  def _parse(self, **values):
    """The command with these flags, except flags that are None."""
    values = {'task': 'image_folder', 'image_dir': self._images} | values
    return commands.parse(
      'semifl',
      [f'--{k}={v}' for k, v in values.items() if v is not None],
    )

  def _create_task(self, **values):
    return self._parse(**values).experiment.data.task.create()

  def _assert_refused(self, message, **values):
    with self.assertRaises((ValueError, command_line.UsageError)) as raised:
      self._create_task(**values)
    line = program.describe(raised.exception) or str(raised.exception)
    self.assertRegex(line, message)
    self.assertNotIn('\n', line)

  @parameterized.parameters(
    ('num_labeled', 4),
    ('partition', 'iid'),
    ('skew', 0.4),
  )
  def test_flag_of_other_tasks(self, name, value):
    self._assert_refused(
      f'^flag --{name}: --task=image_folder has no use for it; leave it out$',
      **{name: value},
    )

  @parameterized.parameters(('image_dir', '/photos'), ('gray', 'False'))
  def test_flag_without_use_for_another_task(self, name, value):
    self._assert_refused(
      f'^flag --{name}: it is only for --task=image_folder$',
      **{'task': 'digits', 'image_dir': None, name: value},
    )

  def test_no_folder(self):
    self._assert_refused(
      '^flag --image_dir: ',
      image_dir=None,
    )
    self._assert_refused(
      '^flag --image_dir=/no/such: ',
      image_dir='/no/such',
    )

  def test_what_is_no_image(self):
    (self._images / 'clients/east/notes.txt').write_text('no image')
    whole = (self._images / 'server/cat/b.jpg').read_bytes()
    (self._images / 'server/cat/b.jpg').write_bytes(whole[: len(whole) // 2])
    self._assert_refused(
      f'^flag --image_dir={self._images}: in {self._images}: server/cat/b.jpg'
      ' cannot be read .*; clients/east/notes.txt is no JPEG, '
    )

  def test_odd_size(self):
    image_tree.write_image(
      self._images / 'clients/north/b.png', 7, size=(20, 30)
    )
    images = self._create_task().load().unlabeled
    self.assertEqual(images.shape, (4, 16, 16, 3))
    np.testing.assert_array_equal(images[3], np.full([16, 16, 3], 7))

  def test_what_to_test_on(self):
    self._assert_refused(
      '^flag --test_fraction=0.2: ',
      test_fraction=0.2,
    )
    shutil.rmtree(self._images / 'test')
    self._assert_refused('^flag --test_fraction: ')


if __name__ == '__main__':
  absltest.main()
