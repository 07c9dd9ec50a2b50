# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of foreign files in the place of an experiment's files.

Each ends with a line that names the file, and the run goes on, to the same
numbers as one that nobody disturbed.
"""

import asyncio
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import socket
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from tests import simulation_test_case
from tests.experiment import linear_program
from tests.experiment import saved_run
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import training
from tff_semifl.files import durable_files

_TOTAL_ROUNDS = 4


def _make_socket(path):
  with socket.socket(socket.AF_UNIX) as server:
    server.bind(str(path))


_SPECIAL_FILES = {
  'a FIFO': os.mkfifo,
  'a folder': os.mkdir,
  'a socket': _make_socket,
  'a device': lambda path: path.symlink_to('/dev/zero'),
  'a link to nothing': lambda path: path.symlink_to('nothing'),
}


@contextlib.contextmanager
def _no_waiting():
  """Raises a TimeoutError if the `with` block waits for a file."""

  def give_up(number, frame):
    raise TimeoutError('it waits')

  before = signal.signal(signal.SIGALRM, give_up)
  signal.alarm(60)
  try:
    yield
  finally:
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# Cached, because tracing takes seconds.
_create_program = functools.cache(linear_program.create_program)


def _train(path, total_rounds=_TOTAL_ROUNDS):
  """Trains, or resumes."""
  folder = experiment_folder.ExperimentFolder(path, hparams_file.create({}))

  asyncio.run(
    training.train(
      _create_program(total_rounds),
      checkpoints=folder.checkpoints(),
      metrics_manager=folder.metrics_manager(),
      on_start=lambda _: None,
      on_round=lambda number, metrics: None,
    )
  )


class ForeignFilesTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = pathlib.Path(tempfile.mkdtemp())
    cls.addClassCleanup(shutil.rmtree, folder)
    cls._undisturbed = folder / 'undisturbed'
    cls._begun = folder / 'begun'
    _train(cls._undisturbed)
    _train(cls._begun, 2)

  def setUp(self):
    super().setUp()
    # A short path, as a socket needs.
    folder = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, folder)
    self.path = folder / 'run'
    shutil.copytree(self._begun, self.path)

  def _assert_ends_as_undisturbed(self):
    self.assertEqual(
      saved_run.read(self.path), saved_run.read(self._undisturbed)
    )

  @parameterized.parameters(
    ('metrics.csv', 'a socket'),
    ('hparams.json', 'a folder'),
    ('hparams.json', 'a device'),
    ('.lock', 'a FIFO'),
    ('.lock', 'a link to nothing'),
  )
  def test_special_file_is_named_before_anything_is_run(self, name, kind):
    path = self.path / name
    kept = path.rename(path.with_name('kept'))
    _SPECIAL_FILES[kind](path)
    with (
      _no_waiting(),
      self.assertRaisesRegex(
        durable_files.OutputError,
        f'^{path} is (damaged: it is )?{kind}, not a file; (put|remove)[^\n]*$',
      ),
    ):
      _train(self.path)
    # The remedy.
    path.rmdir() if kind == 'a folder' else path.unlink()
    kept.rename(path)
    with _no_waiting():
      _train(self.path)
    self._assert_ends_as_undisturbed()

  def test_special_file_in_place_of_a_checkpoint_is_left_out(self):
    path = self.path / 'checkpoints/program_state_2.npz'
    path.unlink()
    os.mkfifo(path)
    with _no_waiting(), self.assertLogs(level='WARNING') as logs:
      _train(self.path)
    self.assertIn(
      f'{path} is damaged: it is a FIFO, not a file; it is left out',
      logs.output[0],
    )
    self._assert_ends_as_undisturbed()


if __name__ == '__main__':
  absltest.main()
