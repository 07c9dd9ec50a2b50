# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of checkpoints, including damaged files and failing disks."""

import collections
import os
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.experiment import full_disk
from tff_semifl.experiment import checkpoints
from tff_semifl.files import durable_files

_SIZE = 10_000


def _state(value):
  return collections.OrderedDict(
    a=np.full([_SIZE], value, np.float32), b=[np.int32(value)]
  )


def _flip_a_bit(path):
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 1
  path.write_bytes(content)


def _cut(path):
  path.write_bytes(path.read_bytes()[:-1])


class CheckpointsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path, 'checkpoints')

  def _open(self):
    return checkpoints.Checkpoints(self.folder, num_kept=3)

  def _save(self, *versions):
    manager = self._open()
    for version in versions:
      manager.save(_state(version), version)

  def _load_latest(self):
    """The number of the newest state, which is also its version."""
    state = self._open().load_latest(_state(0))
    if state is None:
      return None
    np.testing.assert_array_equal(state['a'], np.full([_SIZE], state['b'][0]))
    return int(state['b'][0])

  def _path(self, version):
    return self.folder / f'program_state_{version}.npz'

  def test_newest_is_loaded_and_three_are_kept(self):
    self.assertIsNone(self._load_latest())
    self._save(0, 1, 2, 3, 4)
    self.assertEqual(self._load_latest(), 4)
    self.assertSameElements(
      [path.name for path in self.folder.iterdir()],
      [self._path(version).name for version in (2, 3, 4)],
    )

  def test_everything_is_on_the_disk_before_it_takes_its_place(self):
    self._save(1)
    fsync, rename, events = os.fsync, pathlib.Path.rename, []

    def note_fsync(descriptor):
      fsync(descriptor)
      events.append(pathlib.Path(os.readlink(f'/proc/self/fd/{descriptor}')))

    def note_rename(source, target):
      rename(source, target)
      events.append((source.name, target.name))

    with (
      mock.patch.object(os, 'fsync', note_fsync),
      mock.patch.object(pathlib.Path, 'rename', note_rename),
    ):
      self._save(2)
    folder = self.folder.resolve()
    self.assertEqual(
      events,
      [
        folder / 'program_state_2.temporary',
        ('program_state_2.temporary', self._path(2).name),
        folder,
      ],
    )

  @parameterized.parameters((_flip_a_bit, 'a.npy'), (_cut, 'not a zip file'))
  def test_damaged_version_is_left_out_by_name(self, damage, message):
    self._save(1, 2, 3)
    damage(self._path(3))
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(self._load_latest(), 2)
    [line] = logs.output
    self.assertIn(f'{self._path(3)} is damaged: ', line)
    self.assertIn(message, line)
    self._save(3)
    with self.assertNoLogs(level='WARNING'):
      self.assertEqual(self._load_latest(), 3)

  def test_damaged_versions_after_the_newest_do_not_crowd_it_out(self):
    self._save(1, 2, 3)
    for version in (2, 3):
      _cut(self._path(version))
    self._save(2)
    self.assertEqual(self._load_latest(), 2)
    self._save(3)
    self.assertEqual(self._load_latest(), 3)

  def test_no_intact_version_is_an_error_and_nothing_is_removed(self):
    self._save(1, 2)
    for version in (1, 2):
      _cut(self._path(version))
    with self.assertRaisesRegex(
      durable_files.OutputError,
      f'no checkpoint in {self.folder} is intact .*{self._path(1)}.* remove',
    ):
      self._load_latest()
    self.assertTrue(self._path(1).exists())
    shutil.rmtree(self.folder)
    self.assertIsNone(self._load_latest())

  def test_checkpoint_with_the_name_of_another_round(self):
    manager = self._open()
    manager.save({'round_num': 2}, 2)
    shutil.copy(self._path(2), self._path(3))
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(manager.load_latest({'round_num': 0})['round_num'], 2)
      manager.save({'round_num': 3}, 3)
    self.assertIn(
      f'{self._path(3)} has the name of another round: it is of round 2',
      logs.output[0],
    )
    self.assertEqual(manager.load_latest({'round_num': 0})['round_num'], 3)
    # The only checkpoint must not be lost.
    self._path(2).unlink()
    self._path(3).rename(self._path(4))
    with self.assertRaisesRegex(
      durable_files.OutputError, 'is intact .*it is of round 3'
    ):
      manager.load_latest({'round_num': 0})

  def test_what_a_kill_left_is_removed_and_not_read(self):
    self._save(1)
    leftover = self.folder / 'program_state_2.temporary'
    shutil.copy(self._path(1), leftover)
    self.assertEqual(checkpoints.read_latest(self.folder)[1], 1)
    self.assertTrue(leftover.exists())
    self.assertEqual(self._load_latest(), 1)
    self.assertFalse(leftover.exists())

  def test_full_disk_leaves_what_was_saved_before(self):
    self._save(1)
    with (
      # Four bytes per number do not fit.
      full_disk.full_disk(2 * _SIZE),
      self.assertRaisesRegex(
        durable_files.OutputError, f'cannot write {self._path(2)}: File too'
      ),
    ):
      self._save(2)
    self.assertEqual(list(self.folder.iterdir()), [self._path(1)])
    self.assertEqual(self._load_latest(), 1)
    self._save(2)
    self.assertEqual(self._load_latest(), 2)


if __name__ == '__main__':
  absltest.main()
