# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that killed and resumed runs have the results of complete runs."""

import multiprocessing
import pathlib
import random
import signal
import time

from absl.testing import absltest
import pytest

from tests.experiment import killable_program
from tests.experiment import saved_run

_KILLS = 24
_TOTAL_ROUNDS = 40
# Resuming uses about ten files, a round about twenty, four of them checkpoints.
_MOST_FILES = 60
_MOST_CHECKPOINT_FILES = 8


@pytest.mark.slow
class KillTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Processes are forked from a process that has imported all modules and has
    # run no operation.
    self._context = multiprocessing.get_context('forkserver')
    self._context.set_forkserver_preload([killable_program.__name__])

  def _start(self, folder, kill_at=None):
    receiver, sender = self._context.Pipe(duplex=False)
    process = self._context.Process(
      target=killable_program.train,
      args=(str(folder), _TOTAL_ROUNDS, kill_at, sender),
    )
    process.start()
    self.addCleanup(process.kill)
    sender.close()
    return process, receiver

  def _finish(self, folder):
    """Finishes training; returns the seconds of training, without the start."""
    process, receiver = self._start(folder)
    self.assertEqual(receiver.recv(), 'start')
    start = time.monotonic()
    process.join(60)
    self.assertEqual(process.exitcode, 0)
    return time.monotonic() - start

  def _kill_at_a_file(self, folder, number, within):
    """Kills the run at the n-th use of a file; returns its name or None."""
    process, receiver = self._start(folder, (str(within), number))
    process.join(60)
    said = []
    while receiver.poll():
      try:
        said.append(receiver.recv())
      except EOFError:
        break
    if process.exitcode == 0:
      return None
    self.assertEqual(process.exitcode, -signal.SIGKILL)
    return pathlib.Path(said[-1]).relative_to(folder)

  def _kill_after(self, folder, seconds):
    """Kills the run after a time; returns whether training was unfinished."""
    process, receiver = self._start(folder)
    self.assertEqual(receiver.recv(), 'start')
    time.sleep(seconds)
    process.kill()
    process.join(60)
    return process.exitcode == -signal.SIGKILL

  def test_killed_over_and_over_again_it_ends_with_the_same_bits(self):
    whole, killed = (
      pathlib.Path(self.create_tempdir(name).full_path, 'experiment')
      for name in ('whole', 'killed')
    )
    seconds = self._finish(whole)
    expected = saved_run.read(whole)
    self.assertLen(expected.rows, _TOTAL_ROUNDS + 1)
    generator = random.Random(0)
    files = []
    for kill in range(_KILLS):
      if kill % 4 == 0:
        # At any time, also in C++ code.
        after = generator.uniform(0, 2 * seconds / _TOTAL_ROUNDS)
        self.assertTrue(
          self._kill_after(killed, after), f'complete after {kill} kills'
        )
        continue
      within, most_files = killed, _MOST_FILES
      if kill % 4 == 1:
        within, most_files = killed / 'checkpoints', _MOST_CHECKPOINT_FILES
      file = self._kill_at_a_file(
        killed, generator.randint(1, most_files), within
      )
      self.assertIsNotNone(file, f'complete after {kill} kills')
      files.append(file)
    # Some programs were killed while saving a round.
    self.assertIn('.temporary', [file.suffix for file in files[::3]])
    self._finish(killed)
    found = saved_run.read(killed)
    self.assertEqual(found.rows, expected.rows)
    self.assertEqual(found.arrays, expected.arrays)
    self.assertSameElements(
      [path.name for path in (killed / 'checkpoints').iterdir()],
      [path.name for path in (whole / 'checkpoints').iterdir()],
    )


if __name__ == '__main__':
  absltest.main()
