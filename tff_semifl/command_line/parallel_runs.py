# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs commands in processes of their own, several at a time.

No process outlives this one: an interrupt is passed on to all, and all are
killed when this process is killed.
"""

from collections.abc import Callable, Sequence
import dataclasses
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import tqdm

from tff_semifl.runtime import tied_process

_POLL_SECONDS = 0.2
_NUM_LOG_LINES = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """A command to run.

  Attributes:
    name: The name in messages.
    command: The path of the program, and its arguments.
    log_path: The file that output is appended to.
  """

  name: str
  command: tuple[str, ...]
  log_path: pathlib.Path


def run(
  jobs: Sequence[Job],
  *,
  num_parallel: int,
  stop_on_failure: bool,
  describe: Callable[[Job], str],
  quiet: bool = False,
) -> list[Job]:
  """Runs jobs in their order, and shows their progress on standard error.

  Upon any exception, an interrupt included, running jobs get SIGTERM; the
  exception is raised again once all have ended.

  Args:
    jobs: The jobs.
    num_parallel: The most jobs at a time.
    stop_on_failure: Whether no job starts after one has failed.
    describe: Words on the outcome of a job that ended well.
    quiet: Whether to show failures alone.

  Returns:
    The jobs that failed.
  """
  waiting, failed = list(reversed(jobs)), []
  running: dict[Job, subprocess.Popen] = {}
  # Lines appear above the bar, which only a terminal shows.
  with tqdm.tqdm(
    total=len(jobs), unit='run', disable=True if quiet else None
  ) as bar:

    def say(text: str) -> None:
      if not quiet:
        bar.write(text, file=sys.stderr)

    try:
      while True:
        while (
          waiting
          and len(running) < num_parallel
          and not (failed and stop_on_failure)
        ):
          job = waiting.pop()
          running[job] = _start(job)
          say(f'{job.name}: started, log: {job.log_path}')
        if not running:
          return failed
        time.sleep(_POLL_SECONDS)
        for job, process in list(running.items()):
          exit_code = process.poll()
          if exit_code is None:
            continue
          del running[job]
          if exit_code:
            failed.append(job)
            bar.write(_describe_failure(job, exit_code), file=sys.stderr)
          else:
            say(f'{job.name}: {describe(job)}')
          bar.update()
    except BaseException:
      for process in running.values():
        process.terminate()
      if running:
        names = ', '.join(job.name for job in running)
        bar.write(
          f'\nending {names}; interrupt again to kill what runs',
          file=sys.stderr,
        )
      # Polled, because `wait` would hold back a second interrupt for a moment.
      while any(process.poll() is None for process in running.values()):
        time.sleep(_POLL_SECONDS)
      raise


def _start(job: Job) -> subprocess.Popen:
  with job.log_path.open('ab') as log:
    # Marks in the log where the output of this start begins.
    log.write(f'$ {shlex.join(job.command)}\n'.encode())
    log.flush()
    return subprocess.Popen(
      # The starting thread must stay until the job has ended.
      tied_process.tied_command(job.command),
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # Keeps a terminal's Ctrl-C from the job: with the signal that is passed
      # on, the job would get two, and the second kills at once.
      start_new_session=True,
    )


def _describe_failure(job: Job, exit_code: int) -> str:
  how = f'exit code {exit_code}'
  if exit_code < 0:
    how = f'signal {-exit_code} ({signal.strsignal(-exit_code)})'
  lines = job.log_path.read_text(errors='replace').splitlines()
  end = '\n'.join(f'  {line}' for line in lines[-_NUM_LOG_LINES:])
  return (
    f'{job.name}: failed with {how}; the end of its log {job.log_path}:\n{end}'
  )
