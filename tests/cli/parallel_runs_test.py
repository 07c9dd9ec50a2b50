# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of running programs side by side, and of ending them."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from absl.testing import absltest
import pytest

from tff_semifl.cli import parallel_runs

_ROOT = pathlib.Path(__file__).parents[2]

# Runs for a minute, and takes a moment to end in order.
_LONG = """
import os, signal, sys, time
def end(*_):
  print('asked', flush=True)
  time.sleep({seconds})
  print('in order', flush=True)
  sys.exit(143)
signal.signal(signal.SIGTERM, end)
print('ready', os.getpid(), flush=True)
time.sleep(60)
"""
_PROGRAM = """
import pathlib, sys
from tff_semifl.cli import parallel_runs, program

def main():
  jobs = [
    parallel_runs.Job(
      name=name,
      command=(sys.executable, '-c', {code!r}),
      log_path=pathlib.Path({folder!r}, name),
    )
    for name in 'abc'
  ]
  for _ in parallel_runs.run(
    jobs, num_parallel=2, stop_on_failure=True, say=lambda line: None
  ):
    pass

program.run(main, interrupted=program.RESUMES)
"""


def _exists(pid):
  try:
    os.kill(pid, 0)
  except ProcessLookupError:
    return False
  return True


def _wait_until(condition, seconds=60):
  deadline = time.monotonic() + seconds
  while not condition():
    if time.monotonic() > deadline:
      raise AssertionError(f'Did not come true in {seconds} seconds.')
    time.sleep(0.02)


class ProcessesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _job(self, name, code):
    return parallel_runs.Job(
      name=name,
      command=(sys.executable, '-c', code),
      log_path=self.folder / name,
    )

  def _run(self, jobs, num_parallel=1, stop_on_failure=True):
    """Returns the names and exit codes of jobs in the order of their ends."""
    return [
      (job.name, exit_code)
      for job, exit_code in parallel_runs.run(
        jobs,
        num_parallel=num_parallel,
        stop_on_failure=stop_on_failure,
        say=lambda line: None,
      )
    ]

  def _log(self, name):
    path = self.folder / name
    return path.read_text() if path.exists() else ''

  def _pid(self, name):
    """Returns the process of a long job, None before the start."""
    found = re.search(r'^ready (\d+)$', self._log(name), re.M)
    return found and int(found[1])

  def test_log_has_command_and_output_of_each_start(self):
    code = 'import os; os.write(1, b"out "); os.write(2, b"err\\n")'
    job = self._job('job', code)
    self._run([job, job])
    once = f"$ {sys.executable} -c '{code}'\nout err\n"
    self.assertEqual(self._log('job'), 2 * once)

  def test_some_at_a_time(self):
    # Each process ends only when the other one runs.
    code = f"""
import os, pathlib, sys, time
folder = pathlib.Path({str(self.folder)!r})
me = str(os.getpid())
(folder / f'here_{{me}}').touch()
while len(list(folder.glob('here_*'))) < 2: time.sleep(0.01)
"""
    jobs = [self._job(name, code) for name in 'abcd']
    ended = self._run(jobs, num_parallel=2)
    self.assertCountEqual(ended, [(name, 0) for name in 'abcd'])

  def test_failure(self):
    jobs = [
      self._job('good', ''),
      self._job('bad', 'print("why"); raise SystemExit(3)'),
      self._job('killed', 'import os; os.kill(os.getpid(), 9)'),
      self._job('better', ''),
    ]
    ended = [('good', 0), ('bad', 3), ('killed', -9), ('better', 0)]
    self.assertEqual(self._run(jobs, stop_on_failure=False), ended)
    self.assertEqual(self._run(jobs), ended[:2])
    self.assertRegex(
      parallel_runs.describe_failure(jobs[1], 3),
      '^failed with exit code 3; the end of its log .*/bad:\n(.*\n)*  why$',
    )
    self.assertStartsWith(
      parallel_runs.describe_failure(jobs[2], -9),
      'failed with signal 9 (Killed)',
    )

  def test_after_a_failure_others_go_on_to_their_end(self):
    wait = f"""
import pathlib, time
while 'Traceback' not in pathlib.Path({str(self.folder / 'bad')!r}).read_text():
  time.sleep(0.01)
time.sleep(1)
"""
    jobs = [
      self._job('bad', 'raise ValueError'),
      self._job('long', wait),
      self._job('never', ''),
    ]
    self.assertEqual(self._run(jobs, num_parallel=2), [('bad', 1), ('long', 0)])

  def test_closing_ends_all_in_order(self):
    jobs = [
      self._job('a', _LONG.format(seconds=0.1)),
      self._job('b', 'import time; time.sleep(1)'),
    ]
    with contextlib.closing(
      parallel_runs.run(
        jobs, num_parallel=2, stop_on_failure=True, say=lambda line: None
      )
    ) as ended:
      self.assertEqual(next(ended), (jobs[1], 0))
      _wait_until(lambda: self._pid('a'))
    self.assertEndsWith(self._log('a'), 'asked\nin order\n')

  def _start(self, seconds):
    """Starts a program with two of three jobs at a time; waits for these."""
    process = subprocess.Popen(
      [
        sys.executable,
        '-c',
        _PROGRAM.format(
          code=_LONG.format(seconds=seconds), folder=str(self.folder)
        ),
      ],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      # Tests may run in a background job, which ignores the signal.
      preexec_fn=lambda: signal.signal(
        signal.SIGINT, signal.default_int_handler
      ),
    )
    self.addCleanup(process.kill)
    _wait_until(lambda: all(self._pid(name) for name in 'ab'))
    pids = [self._pid(name) for name in 'ab']
    self.assertTrue(all(map(_exists, pids)))
    return process, pids

  @pytest.mark.slow
  def test_sigterm_is_passed_on(self):
    process, pids = self._start(seconds=1)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=30)
    self.assertEqual(process.returncode, 143, errors)
    self.assertEmpty(output)
    self.assertIn('ending a, b; interrupt again', errors)
    self.assertIn('the same command goes on', errors)
    self.assertFalse(any(map(_exists, pids)))
    for name in 'ab':
      self.assertEndsWith(self._log(name), 'asked\nin order\n')
    self.assertEmpty(self._log('c'))

  @pytest.mark.slow
  def test_second_interrupt_kills(self):
    process, pids = self._start(seconds=60)
    process.send_signal(signal.SIGINT)
    _wait_until(lambda: all('\nasked\n' in self._log(name) for name in 'ab'))
    self.assertIsNone(process.poll())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    self.assertEqual(process.returncode, -signal.SIGINT, errors)
    _wait_until(lambda: not any(map(_exists, pids)))
    for name in 'ab':
      self.assertEndsWith(self._log(name), 'asked\n')


if __name__ == '__main__':
  absltest.main()
