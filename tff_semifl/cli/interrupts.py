# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Program start: TensorFlow's log level, garbage collection, early Ctrl-C."""

import atexit
import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

# TensorFlow reads this variable on import. Its messages about the machine would
# bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# Graphs create millions of long-lived objects. Python's default threshold of
# 700 new objects between collections, and the final collection, cost two of six
# seconds of a start.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

# The last line of an interrupted program.
INTERRUPTED = 'interrupted'


def begin() -> None:
  """Lets Ctrl-C during imports end the process without a traceback.

  Programs that have parsed their flags handle Ctrl-C themselves.
  """
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)


def begin_if_run(package: str) -> None:
  """Calls `begin` if Python was started to run a module of this package.

  Has no effect in other programs that import the package.
  """
  # `sys.argv[0]` is '-m' while Python looks for the module to run.
  if sys.argv[:1] == ['-m'] and any(
    argument.startswith(package) for argument in sys.orig_argv
  ):
    begin()


def _end(number: int, _frame: object) -> NoReturn:
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'\n{INTERRUPTED}\n'.encode())
  os._exit(128 + number)
