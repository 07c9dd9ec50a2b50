# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Starts `launch.worker` as users do, for tests."""

from collections.abc import Sequence
import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO

from tests import forked_programs

_ROOT = pathlib.Path(__file__).parents[2]
_START_SECONDS = 120
_LIBC = ctypes.CDLL(None)


def environment() -> dict[str, str]:
  """Returns an environment in which the repository can be imported."""
  return {
    **os.environ,
    'PYTHONPATH': os.pathsep.join([str(_ROOT), *filter(None, sys.path)]),
    'TF_CPP_MIN_LOG_LEVEL': '3',
  }


def _start(
  flags: Sequence[str], prefix: Sequence[str], log: IO
) -> subprocess.Popen | forked_programs.Program:
  if not prefix:
    return forked_programs.start(
      'launch.worker', *flags, stdout=log, stderr=log, new_session=True
    )
  return subprocess.Popen(
    [*prefix, sys.executable, '-m', 'launch.worker', *flags],
    stdin=subprocess.PIPE,
    stdout=log,
    stderr=log,
    env=environment(),
    start_new_session=True,
    # It ends with the test (PR_SET_PDEATHSIG, 1), even if that is killed.
    preexec_fn=lambda: _LIBC.prctl(1, signal.SIGKILL),
  )


class WorkerProcess:
  """A worker in a process of its own.

  Attributes:
    process: The process.
  """

  def __init__(self, *flags: str, prefix: Sequence[str] = ()):
    """Starts the process.

    Args:
      *flags: For the worker.
      prefix: A command to start it with.
    """
    self._log = tempfile.NamedTemporaryFile('r')
    with open(self._log.name, 'wb') as log:
      self.process = _start(flags, prefix, log)
    self._address = None

  @property
  def log(self) -> str:
    """Output of the worker so far."""
    return pathlib.Path(self._log.name).read_text()

  @property
  def address(self) -> str:
    """Address of the worker; waits until it is ready."""
    deadline = time.monotonic() + _START_SECONDS
    while self._address is None:
      found = re.search(r'^ready at (\S+),', self.log, re.M)
      if found:
        self._address = found[1]
      elif self.process.poll() is not None or time.monotonic() > deadline:
        raise AssertionError(f'The worker did not start:\n{self.log}')
      else:
        time.sleep(0.05)
    return self._address

  def signal(self, number: int) -> None:
    """Sends a signal to the worker."""
    self.process.send_signal(number)

  def stop(self) -> None:
    """Kills the worker, if it lives."""
    with contextlib.suppress(ProcessLookupError):
      os.killpg(self.process.pid, signal.SIGKILL)
    self.process.wait()
    if isinstance(self.process, subprocess.Popen):
      self.process.stdin.close()
    self._log.close()


def wait_until(condition, seconds: float = 60) -> None:
  """Waits until a function returns true.

  Args:
    condition: The function.
    seconds: How long to wait at most.

  Raises:
    AssertionError: It took longer.
  """
  deadline = time.monotonic() + seconds
  while not condition():
    if time.monotonic() > deadline:
      raise AssertionError(f'Did not come true in {seconds} seconds.')
    time.sleep(0.02)
