# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs programs in processes of their own, some at a time.

None outlives this process: an interrupt is passed on to them, and they are
killed when this process is killed.
"""

from collections.abc import Collection, Iterator, Sequence
import contextlib
import dataclasses
import pathlib
import shlex
import subprocess
import time
from typing import Protocol

from tff_semifl.runtime import tied_process

_POLL_SECONDS = 0.2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """A program to be run.

  Attributes:
    name: What to call it.
    command: The path of the program, and its arguments.
    log_path: Where its output goes, after what is there.
  """

  name: str
  command: tuple[str, ...]
  log_path: pathlib.Path


class Process(Protocol):
  """A job under way; `subprocess.Popen` is one."""

  def poll(self) -> int | None:
    """Returns the exit code, None while the job goes on."""

  def terminate(self) -> None:
    """Asks it to end in order."""


class Place(Protocol):
  """A place where jobs run."""

  def max_parallel(self) -> int:
    """Returns how many there may be at a time, as far as is known now."""

  def start(self, job: Job) -> Process:
    """Starts a job."""


@dataclasses.dataclass(frozen=True)
class ThisMachine:
  """Processes of this machine.

  Attributes:
    num_parallel: How many there may be at a time.
  """

  num_parallel: int

  def max_parallel(self) -> int:
    """Returns how many there may be at a time."""
    return self.num_parallel

  def start(self, job: Job) -> Process:
    """Starts a job."""
    return start_process(job)


class Watcher(Protocol):
  """An observer of jobs, called in the thread that runs them."""

  def start(self, job: Job) -> None:
    """Takes a job that was started."""

  def poll(self, jobs: Collection[Job]) -> None:
    """Takes the jobs under way, several times a second."""

  def end(self, job: Job, exit_code: int) -> None:
    """Takes a job that ended by itself.

    Args:
      job: The job.
      exit_code: Of its process; minus the number of the signal that killed it,
        if one did.
    """

  def interrupt(self, jobs: Collection[Job]) -> None:
    """Takes the jobs under way, which were told to end."""


def run(
  jobs: Sequence[Job],
  *,
  place: Place,
  stop_on_failure: bool,
  watcher: Watcher,
) -> list[Job]:
  """Runs jobs, in their order.

  Any exception, be it an interrupt or one of the watcher, is passed on when
  the jobs under way have ended, which are sent SIGTERM.

  Args:
    jobs: What to run.
    place: Where they run.
    stop_on_failure: Whether no job is started any more when one has failed;
      those under way go on to their end.
    watcher: What is told how it goes.

  Returns:
    The jobs that failed, in the order of their ends.

  Raises:
    OSError: If a log cannot be written.
  """
  waiting = list(reversed(jobs))
  failed = []
  running: dict[Job, Process] = {}
  with _ending(running, watcher):
    while True:
      while (
        waiting
        and len(running) < place.max_parallel()
        and not (failed and stop_on_failure)
      ):
        job = waiting.pop()
        running[job] = place.start(job)
        watcher.start(job)
      if not running:
        return failed
      time.sleep(_POLL_SECONDS)
      watcher.poll(running.keys())
      for job, process in list(running.items()):
        exit_code = process.poll()
        if exit_code is not None:
          del running[job]
          if exit_code != 0:
            failed.append(job)
          watcher.end(job, exit_code)


def start_process(job: Job) -> subprocess.Popen:
  """Starts a job on this machine, as long as this thread lasts.

  Raises:
    OSError: If its log cannot be written.
  """
  with job.log_path.open('ab') as log:
    # Which output is of which start.
    log.write(f'$ {shlex.join(job.command)}\n'.encode())
    log.flush()
    return subprocess.Popen(
      # Whoever starts it stays until it has ended.
      tied_process.tied_command(job.command),
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # A Ctrl-C of the terminal does not reach it: it would be the first of
      # two, with the one that is passed on, and the second ends it at once.
      start_new_session=True,
    )


@contextlib.contextmanager
def _ending(running: dict[Job, Process], watcher: Watcher) -> Iterator[None]:
  """Ends what is running after an exception in the `with` block."""
  try:
    yield
  except BaseException:
    for process in running.values():
      process.terminate()
    if running:
      watcher.interrupt(running.keys())
    # `wait` would swallow a second interrupt for a moment.
    while any(process.poll() is None for process in running.values()):
      time.sleep(_POLL_SECONDS)
    raise
