# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs commands as child processes, several at a time.

No child outlives this process: interrupts are passed on to all children, and
all children are killed when this process is killed.
"""

import collections
from collections.abc import Callable, Iterator, Sequence
import dataclasses
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from tff_semifl.runtime import tied_process

_POLL_SECONDS = 0.2
_NUM_LOG_LINES = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """A command, its name in messages, and the file for its output."""

  name: str
  command: tuple[str, ...]
  log_path: pathlib.Path


def run(
  jobs: Sequence[Job],
  *,
  num_parallel: int,
  stop_on_failure: bool,
  say: Callable[[str], None],
) -> Iterator[tuple[Job, int]]:
  """Runs jobs in order; yields each ended job with the exit code.

  With `stop_on_failure`, no job starts after a failure. Closing or
  interrupting the iterator sends SIGTERM to running jobs, and waits for jobs.
  """
  waiting = collections.deque(jobs)
  running: dict[Job, subprocess.Popen] = {}
  try:
    while waiting or running:
      while waiting and len(running) < num_parallel:
        job = waiting.popleft()
        running[job] = _start(job)
        say(f'{job.name}: started, log: {job.log_path}')
      time.sleep(_POLL_SECONDS)
      for job in [job for job in running if running[job].poll() is not None]:
        exit_code = running.pop(job).returncode
        if exit_code and stop_on_failure:
          waiting.clear()
        yield job, exit_code
  finally:
    for process in running.values():
      process.terminate()
    if running:
      names = ', '.join(job.name for job in running)
      print(
        f'\nending {names}; interrupt again to kill what runs', file=sys.stderr
      )
    # Polled, because `wait` would hold back a second interrupt for a moment.
    while any(process.poll() is None for process in running.values()):
      time.sleep(_POLL_SECONDS)


def _start(job: Job) -> subprocess.Popen:
  with job.log_path.open('ab') as log:
    # Marks in the log where the output of this run begins.
    log.write(f'$ {shlex.join(job.command)}\n'.encode())
    log.flush()
    return subprocess.Popen(
      # The starting thread must stay until the job has ended.
      tied_process.tied_command(job.command),
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # Keeps the terminal's Ctrl-C from the job, which gets a signal from this
      # process already; a second signal would kill the job at once.
      start_new_session=True,
    )


def describe_failure(job: Job, exit_code: int) -> str:
  """Describes a job's failure, with the end of the log."""
  how = f'exit code {exit_code}'
  if exit_code < 0:
    how = f'signal {-exit_code} ({signal.strsignal(-exit_code)})'
  lines = job.log_path.read_text(errors='replace').splitlines()
  end = '\n'.join(f'  {line}' for line in lines[-_NUM_LOG_LINES:])
  return f'failed with {how}; the end of its log {job.log_path}:\n{end}'
