# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Starting programs: TensorFlow's remarks, garbage collection, early Ctrl-C."""

import atexit
import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

# Read by TensorFlow when it is first imported, later. Its remarks about the
# machine would bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# Graphs create millions of objects that stay alive. Python's default of 700 new
# objects between searches for cycles, and its search at the end, cost two
# seconds of a start of six.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

# The last line of an interrupted program.
INTERRUPTED = 'interrupted'


def begin() -> None:
  """Lets Ctrl-C end the process without a traceback, while it imports modules.

  Programs that have parsed their flags end in order instead.
  """
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)


def begin_if_run(package: str) -> None:
  """Calls `begin` if Python runs a module of a package that is being imported.

  Other programs that import the package are left alone.
  """
  # Python has '-m' there while it looks for the module to run.
  if sys.argv[:1] == ['-m'] and any(
    argument.startswith(package) for argument in sys.orig_argv
  ):
    begin()


def _end(number: int, _frame: object) -> NoReturn:
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'\n{INTERRUPTED}\n'.encode())
  os._exit(128 + number)
