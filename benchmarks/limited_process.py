# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs a program in its own process, and stops the process at a time limit."""

from collections.abc import Sequence
import os
import pathlib
import signal
import subprocess
import time
from typing import NamedTuple

# Ctrl-C, after which programs of this project end in order; SIGTERM, because
# background jobs ignore Ctrl-C. A long TensorFlow operation delays both.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECONDS_EACH = 8
# The most time between the limit and the end of the process.
SECONDS_TO_STOP = len(_SIGNALS) * _SECONDS_EACH


class Outcome(NamedTuple):
  """The end of a process.

  Attributes:
    kind: 'done', 'failed', or 'cut' if the process was stopped before its end.
    seconds: How long the process ran.
    exit_code: The exit code; negative if a signal ended the process.
  """

  kind: str
  seconds: float
  exit_code: int


def run(command: Sequence[str], seconds: float, log: pathlib.Path) -> Outcome:
  """Runs a command; its output is appended to a file.

  After `seconds`, or when this program is interrupted, the process and its
  children get signals, and end at most `SECONDS_TO_STOP` later.
  """
  start = time.monotonic()
  with log.open('ab') as file:
    process = subprocess.Popen(
      command,
      stdin=subprocess.DEVNULL,
      stdout=file,
      stderr=subprocess.STDOUT,
      # A killed program would lose the output that it holds back.
      env={**os.environ, 'PYTHONUNBUFFERED': '1'},
      # A group of its own: Ctrl-C at a terminal reaches it from here alone.
      start_new_session=True,
    )
  kind = 'failed'
  try:
    process.wait(seconds)
  except subprocess.TimeoutExpired:
    kind = 'cut'
  finally:
    _stop(process)
  # The limit may have come while the process was ending.
  if process.returncode == 0:
    kind = 'done'
  return Outcome(kind, time.monotonic() - start, process.returncode)


def _stop(process: subprocess.Popen) -> None:
  """Ends a process by signals if it still runs, and kills its children."""
  for number in _SIGNALS:
    if process.poll() is None:
      os.killpg(process.pid, number)
      try:
        process.wait(_SECONDS_EACH)
      except subprocess.TimeoutExpired:
        pass
  try:
    os.killpg(process.pid, signal.SIGKILL)
  except ProcessLookupError:
    pass
  process.wait()
