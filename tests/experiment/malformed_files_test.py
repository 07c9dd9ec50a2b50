# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of damaged files of experiments."""

import asyncio
import csv
import pathlib
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests import damage
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_folder
from tff_semifl.files import durable_files

_METRICS = (
  b'round,test/accuracy,seconds\r\n0,0.1,1.5\r\n1,0.25,2.5\r\n2,0.5,3.5\r\n'
)


class MalformedFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, self.folder)

  def _assert_is_a_line_on(self, error, path):
    self.assertIn(str(path), str(error))
    self.assertNotIn('\n', str(error))

  @hypothesis.given(damage.damaged(_METRICS) | strategies.binary(max_size=60))
  @hypothesis.example(b'round,loss\r\n0,0.5,7\r\n1,0.5\r\n')
  @hypothesis.example(b'round,loss\n0,0.5\nx,0.5\n1,0.5\n')
  @hypothesis.example(b'round,loss\n0,0.5\r1,0.5\n')
  @hypothesis.example(b'round,loss,loss\n0,0.5,0.5\n')
  @hypothesis.example(b'round')
  @damage.settings(max_examples=60)
  def test_table_of_metrics_is_refused_or_goes_on(self, content):
    """A bad table is rejected before a round, not when a row is written."""
    path = self.folder / 'metrics.csv'
    path.write_bytes(content)
    try:
      table = experiment_folder.MetricsFile(path)
    except durable_files.OutputError as error:
      self._assert_is_a_line_on(error, path)
      self.assertEqual(path.read_bytes(), content)
      return
    asyncio.run(table.release({'test/accuracy': 0.75, 'seconds': 1.0}, 3))
    with path.open(newline='') as lines:
      *_, last = csv.DictReader(lines)
    self.assertEqual(
      (last['round'], last['test/accuracy'], last['seconds']),
      ('3', '0.75', '1.0'),
    )


def _save_one_array(path):
  with path.open('wb') as file:
    np.save(file, np.zeros([2]))


class MalformedCheckpointsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    for version in (1, 2):
      self._save(version)

  def _open(self):
    return checkpoints.Checkpoints(self.folder, num_kept=3)

  def _save(self, version):
    self._open().save({'a': np.full([2], version)}, version)

  def _load(self):
    structure = {'a': np.zeros([2], np.int64)}
    return self._open().load_latest(structure)

  @parameterized.parameters(
    ('2 (copy)', lambda path: path.write_text('any')),
    ('03', lambda path: path.write_text('any')),
    ('3', lambda path: path.write_text('no zip file')),
    ('3', _save_one_array),
    ('3', lambda path: np.savez(path, a=np.array([print], object))),
  )
  def test_newest_that_is_intact_is_found_among_others(self, name, write):
    write(self.folder / f'program_state_{name}.npz')
    self.assertEqual(list(self._load()['a']), [2, 2])
    self._save(3)
    self.assertEqual(list(self._load()['a']), [3, 3])

  def test_state_of_another_version_of_the_program(self):
    with self.assertRaisesRegex(
      durable_files.OutputError,
      f'^{self.folder}/program_state_2.npz has no state of this program, ',
    ):
      self._open().load_latest({'b': np.zeros([2], int)})


if __name__ == '__main__':
  absltest.main()
