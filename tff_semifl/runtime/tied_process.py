# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Processes that end when the one that started them does, however it does."""

from collections.abc import Sequence
import os
import sys

# Runs before the program, in its process: asks the kernel for SIGKILL (9) when
# the parent ends (PR_SET_PDEATHSIG, 1), leaves if that was already so, and
# takes back an ignored SIGINT, as a background job of a shell inherits it.
_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


def tied_command(command: Sequence[str]) -> list[str]:
  """Returns a command whose process the kernel kills when this one ends.

  It is killed at the end of the thread that starts it, too.

  Args:
    command: The path of a program, and its arguments.
  """
  return [
    *(sys.executable, '-I', '-S', '-c', _LAUNCHER, str(os.getpid())),
    *command,
  ]
