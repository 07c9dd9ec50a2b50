# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs programs in processes of their own, several at a time.

No program outlives this process: an interrupt is passed on to all, and all are
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
  """A program to run.

  Attributes:
    name: The name in messages.
    command: The path of the program, and its arguments.
    log_path: The file that output is appended to.
  """

  name: str
  command: tuple[str, ...]
  log_path: pathlib.Path


class Process(Protocol):
  """A running job; `subprocess.Popen` is one."""

  def poll(self) -> int | None:
    """The exit code, None while the job runs."""

  def terminate(self) -> None:
    """Asks the job to end in order."""


class Place(Protocol):
  """A place where jobs run."""

  def max_parallel(self) -> int:
    """The number of jobs that may run at a time; it may change."""

  def start(self, job: Job) -> Process:
    """Starts a job."""


@dataclasses.dataclass(frozen=True)
class ThisMachine:
  """Runs jobs as processes of this machine.

  Attributes:
    num_parallel: The most jobs at a time.
  """

  num_parallel: int

  def max_parallel(self) -> int:
    """The most jobs at a time."""
    return self.num_parallel

  def start(self, job: Job) -> Process:
    """Starts a job."""
    return start_process(job)


class Watcher(Protocol):
  """An observer of jobs, called in the thread that runs them."""

  def start(self, job: Job) -> None:
    """Called when a job was started."""

  def poll(self, jobs: Collection[Job]) -> None:
    """Called with the running jobs, several times a second."""

  def end(self, job: Job, exit_code: int) -> None:
    """Called when a job ended by itself."""

  def interrupt(self, jobs: Collection[Job]) -> None:
    """Called with the running jobs when they were told to end."""


def run(
  jobs: Sequence[Job],
  *,
  place: Place,
  stop_on_failure: bool,
  watcher: Watcher,
) -> list[Job]:
  """Runs jobs in their order.

  Upon any exception, an interrupt included, running jobs get SIGTERM; the
  exception is raised again once all have ended.
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
  """Starts a job on this machine that ends with this thread at the latest."""
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


@contextlib.contextmanager
def _ending(running: dict[Job, Process], watcher: Watcher) -> Iterator[None]:
  """Terminates the running jobs upon an exception in the `with` block."""
  try:
    yield
  except BaseException:
    for process in running.values():
      process.terminate()
    if running:
      watcher.interrupt(running.keys())
    # Polled, because `wait` would hold back a second interrupt for a moment.
    while any(process.poll() is None for process in running.values()):
      time.sleep(_POLL_SECONDS)
    raise
