# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the key from which a private run derives noise and cohorts."""

import hashlib
import os
import pathlib
import stat
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.experiment import client_privacy
from tff_semifl.files import durable_files
from tff_semifl.privacy import privacy_key

_KEY = privacy_key.PrivacyKey(bytes(range(32)))


class PrivacyKeyTest(parameterized.TestCase):
  def test_keys_that_were_drawn_differ(self):
    keys = [privacy_key.PrivacyKey.draw() for _ in range(20)]
    self.assertLen({key.secret for key in keys}, 20)
    self.assertLen({key.cohort_seed for key in keys}, 20)
    self.assertEqual({len(key.secret) for key in keys}, {32})

  def test_what_is_derived_is_a_keyed_hash(self):
    for name, size in (('noise', 16), ('cohorts', 32)):
      self.assertEqual(
        _KEY.derive(name, size),
        hashlib.blake2b(
          b'', key=bytes(range(32)), person=name.encode(), digest_size=size
        ).digest(),
      )

  def test_does_not_show_itself(self):
    for text in (repr(_KEY), str(_KEY), f'{_KEY}', f'{[_KEY]}'):
      self.assertIn('PrivacyKey(secret)', text)


class PrivacyKeyFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'privacy.key')

  def _assert_refused(self, message):
    with self.assertRaisesRegex(durable_files.OutputError, message):
      privacy_key.read(self._path)

  def test_is_read_as_it_was_written(self):
    self.assertIsNone(privacy_key.read(self._path))
    privacy_key.write(self._path, _KEY)
    self.assertEqual(privacy_key.read(self._path), _KEY)
    privacy_key.remove(self._path)
    self.assertIsNone(privacy_key.read(self._path))
    privacy_key.remove(self._path)

  def test_is_the_owners_alone_from_the_first_moment_on(self):
    modes = []
    of_rename = pathlib.Path.rename

    def rename(path, target):
      modes.append(stat.S_IMODE(path.stat().st_mode))
      return of_rename(path, target)

    # A file of a killed program, with another mode.
    temporary = durable_files.temporary_path(self._path)
    temporary.write_text('half')
    temporary.chmod(0o666)
    umask = os.umask(0)
    try:
      with mock.patch.object(pathlib.Path, 'rename', rename):
        privacy_key.write(self._path, _KEY)
    finally:
      os.umask(umask)
    modes.append(stat.S_IMODE(self._path.stat().st_mode))
    self.assertEqual(modes, [0o600, 0o600])
    self.assertFalse(temporary.exists())

  @parameterized.parameters(0o640, 0o604)
  def test_file_that_others_may_read_is_refused(self, mode):
    privacy_key.write(self._path, _KEY)
    self._path.chmod(mode)
    self._assert_refused(
      f'/privacy.key has mode {mode:o} and not 600: others may have read the'
      ' secret key.*train anew.*`chmod 600 .*/privacy.key`'
    )
    self._path.chmod(0o600)
    self.assertEqual(privacy_key.read(self._path), _KEY)

  def test_every_byte_of_damage_is_noticed(self):
    privacy_key.write(self._path, _KEY)
    content = self._path.read_bytes()
    damaged = [content[:size] for size in range(len(content))]
    damaged += [
      content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
      for at in range(len(content))
    ]
    for each in [*damaged, content + b'\n', bytes(10_000)]:
      self._path.write_bytes(each)
      self._assert_refused('/privacy.key is damaged; put a good copy')

  def test_what_is_no_file_is_refused(self):
    os.mkfifo(self._path, 0o600)
    self._assert_refused('/privacy.key is no file')
    self._path.unlink()
    self._path.symlink_to('/dev/zero')
    self._assert_refused('cannot read .*/privacy.key, the secret key')

  def test_file_system_without_permissions_is_refused(self):
    """The file is rejected before any part of the key is written."""
    of_open = os.open

    def open_for_all(path, flags, mode=0o777):
      descriptor = of_open(path, flags, mode)
      if flags & os.O_CREAT:
        os.fchmod(descriptor, 0o777)
      return descriptor

    with (
      mock.patch.object(os, 'open', open_for_all),
      self.assertRaisesRegex(
        durable_files.OutputError,
        'would be readable by others, with mode 777.*keeps no permissions',
      ),
    ):
      privacy_key.write(self._path, _KEY)
    self.assertEmpty(list(self._path.parent.iterdir()))


class ExperimentFolderTest(absltest.TestCase):
  """Tests of the key in the folder of an experiment of three rounds."""

  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'mine')
    self._path.mkdir()
    self._file = self._path / 'privacy.key'

  def _keep(self, key=_KEY):
    client_privacy.keep_key(self._path, key, 3)

  def _run_to(self, round_num):
    (self._path / 'metrics.csv').write_text('round\n')
    (self._path / 'checkpoints').mkdir()
    durable_files.write_arrays(
      self._path / 'checkpoints' / f'program_state_{round_num}.npz',
      {'weights': np.zeros(3)},
    )

  def test_experiment_that_was_begun_needs_its_key(self):
    message = 'mine/privacy.key, the secret key .*, is another or missing'
    (self._path / 'metrics.csv').write_text('round\n')
    with self.assertRaisesRegex(durable_files.OutputError, message):
      self._keep()
    (self._path / 'metrics.csv').unlink()
    self._run_to(2)
    with self.assertRaisesRegex(durable_files.OutputError, message):
      self._keep()
    privacy_key.write(self._file, _KEY)
    with self.assertRaisesRegex(durable_files.OutputError, message):
      self._keep(privacy_key.PrivacyKey.draw())
    self._keep()

  def test_complete_experiment_cannot_be_given_more_rounds(self):
    self._keep()
    self._run_to(3)
    # A killed program may have left a copy.
    copy = durable_files.temporary_path(self._file)
    copy.write_bytes(_KEY.secret)
    privacy_key.remove(self._file)
    self.assertFalse(copy.exists())
    self._keep(privacy_key.PrivacyKey.draw())
    self.assertFalse(self._file.exists())
    with self.assertRaisesRegex(
      durable_files.OutputError, 'removed when all rounds were run'
    ):
      client_privacy.keep_key(self._path, privacy_key.PrivacyKey.draw(), 4)
    self.assertFalse(self._file.exists())


if __name__ == '__main__':
  absltest.main()
