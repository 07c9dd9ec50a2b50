# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program, as a separate process."""

import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tests import forked_programs
from tests import small_digits
from tests.experiment import saved_run
from tests.launch import programs

_ROOT = pathlib.Path(__file__).parents[2]
_KEEP_BEST = '--keep_best=test/loss'

_METHOD = """import dataclasses
import tensorflow as tf
import tff_semifl as sfl

@dataclasses.dataclass(frozen=True, kw_only=True)
class Method(sfl.FixMix):
  def select(self, update, labels):
    with tf.control_dependencies(
      [tf.debugging.assert_less(labels.confidences, 0.0)]
    ):
      return tf.identity(labels.confidences)

METHOD = sfl.Alternating(client=Method())
"""


def _processes_of_group(group):
  """The command lines of the living processes of a group."""
  found = []
  for path in pathlib.Path('/proc').glob('[0-9]*'):
    try:
      if os.getpgid(int(path.name)) == group:
        found.append((path / 'cmdline').read_text().replace('\0', ' '))
    except (ProcessLookupError, FileNotFoundError):
      continue
  return found


@functools.cache
def _run_whole():
  """Runs a program in a new interpreter; returns the program and its folder."""
  folder = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
  # Through a pipe, as with `| tee log`: the pipe must end with the program.
  completed = subprocess.run(
    [
      'bash',
      '-c',
      'set -o pipefail; "$@" | cat',
      '-',
      *(sys.executable, '-m'),
      *programs.small_training(folder, _KEEP_BEST),
    ],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=200,
    start_new_session=True,
  )
  return completed, pathlib.Path(folder, 'small')


class TrainSemiFLTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.experiment = pathlib.Path(self.folder, 'small')

  def _start(self, log, *arguments):
    """Starts the small run in a new process group."""
    return forked_programs.start(
      *programs.small_training(self.folder, _KEEP_BEST, *arguments),
      stdout=log,
      stderr=log,
      new_session=True,
    )

  def test_trains_exports_and_leaves_nothing_behind(self):
    completed, experiment = _run_whole()
    self.assertEqual(completed.returncode, 0, completed.stderr)
    rows = saved_run.read_rows(experiment)
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    best = min(rows, key=lambda row: float(row['test/loss']))
    self.assertIn(
      f'test accuracy after round {best["round"]}:'
      f' {float(best["test/accuracy"]):.1%}',
      completed.stdout,
    )
    self.assertIn('round 2/2', completed.stderr)
    self.assertNotIn('Traceback', completed.stderr)
    hparams = json.loads((experiment / 'hparams.json').read_text())
    self.assertEqual(hparams['flags']['total_rounds'], 2)
    self.assertEqual(hparams['flags']['num_labeled'], 50)
    served = tf.saved_model.load(str(experiment / 'export'))
    outputs = served.signatures['serving_default'](
      images=tf.zeros([3, 8, 8, 1], tf.uint8)
    )
    np.testing.assert_allclose(
      np.sum(outputs['probabilities'], axis=1), np.ones(3), rtol=1e-5
    )

  def test_report_of_it(self):
    _, experiment = _run_whole()
    path = pathlib.Path(self.folder, 'report.html')
    completed = programs.run_module(
      'launch.report', str(experiment), f'--output_file={path}'
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertEqual(completed.stdout, f'report: {path}\n')
    content = path.read_text()
    best = min(
      saved_run.read_rows(experiment), key=lambda row: float(row['test/loss'])
    )
    # Computed again, by the exported model.
    self.assertIn(
      f'test accuracy: {float(best["test/accuracy"]):.1%} of 360 images',
      content,
    )
    refused = programs.run_module('launch.report', self.folder)
    self.assertEqual(refused.returncode, 1)
    self.assertRegex(refused.stderr, '^.*: is no folder of an experiment.*\n$')

  @pytest.mark.slow
  def test_killed_run_resumes_to_the_same_numbers(self):
    with tempfile.TemporaryFile() as log:
      process = self._start(log)
    checkpoint = self.experiment / 'checkpoints' / 'program_state_1.npz'
    deadline = time.monotonic() + 150
    while not checkpoint.exists() and time.monotonic() < deadline:
      time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    self.assertEmpty(_processes_of_group(process.pid))
    self.assertLess(len(saved_run.read_rows(self.experiment)), 4)
    completed = forked_programs.run(
      *programs.small_training(self.folder, _KEEP_BEST)
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertIn('resumed after round', completed.stderr)
    _, whole = _run_whole()
    self.assertEqual(saved_run.read(self.experiment), saved_run.read(whole))

  @pytest.mark.slow
  def test_interrupt_ends_it_soon_and_says_how_to_go_on(self):
    read_end, write_end = os.pipe()
    with open(read_end) as lines, tempfile.TemporaryFile() as output:
      process = forked_programs.start(
        # A client's update, which no interrupt ends, takes seconds.
        *programs.small_training(self.folder, '--client_epochs=300'),
        stdout=output,
        stderr=write_end,
      )
      os.close(write_end)
      for line in lines:
        if 'round 1/2' in line:
          break
      process.send_signal(signal.SIGINT)
      errors = lines.read()
    self.assertEqual(process.wait(), 130, errors)
    # In round 2 the second client's update has not begun.
    self.assertLen(saved_run.read_rows(self.experiment), 2)
    self.assertIn('interrupted; the same command goes on', errors)
    self.assertNotIn('Traceback', errors)

  @pytest.mark.slow
  def test_error_of_a_method_names_client_round_and_log(self):
    path = pathlib.Path(self.folder, 'my_method.py')
    path.write_text(_METHOD)
    completed = forked_programs.run(
      'launch.train',
      'my_method:METHOD',
      *small_digits.FLAGS,
      '--num_clients=4',
      '--clients_per_round=2',
      '--total_rounds=1',
      f'--output_dir={self.folder}',
      '--experiment_name=small',
      variables={'PYTHONPATH': self.folder},
    )
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(
      completed.stderr,
      r'(?s)ComputationError: .*Client 0 \(of 2, .*\nIn round 1\.\n'
      f'The traceback is in {self.experiment}/log.txt.\n$',
    )
    log = (self.experiment / 'log.txt').read_text()
    self.assertIn('ended by ComputationError', log)
    self.assertIn('Traceback (most recent call last)', log)


if __name__ == '__main__':
  absltest.main()
