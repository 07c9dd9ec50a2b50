# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Processes that end when their parent ends, for any reason."""

from collections.abc import Sequence
import os
import sys

# Code that the new process runs before the program. It asks the kernel to send
# SIGKILL (9) when the parent ends (PR_SET_PDEATHSIG, 1), exits if the parent
# has ended already, and restores SIGINT, which background jobs of a shell
# ignore.
_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


def tied_command(command: Sequence[str]) -> list[str]:
  """Wraps a command, to be killed when the thread that starts it ends."""
  return [
    *(sys.executable, '-I', '-S', '-c', _LAUNCHER, str(os.getpid())),
    *command,
  ]
