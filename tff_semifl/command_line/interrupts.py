# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Interrupts by Ctrl-C, and Python's search for unreachable cycles."""

import atexit
from collections.abc import Iterator
import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

# Read by TensorFlow when it is first imported, later. Its remarks about the
# machine would bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# Graphs create millions of objects that stay alive. With Python's default of
# 700 new objects, searching them for unreachable cycles takes a tenth of the
# time of building them.
gc.set_threshold(100_000)

# Otherwise Python searches all objects at the end, for a second and a half.
atexit.register(gc.freeze)


# The last line of an interrupted program.
INTERRUPTED = 'interrupted'


def begin() -> None:
  """Lets Ctrl-C end the process without a traceback, while it imports modules.

  Programs that have parsed their flags end in order instead. Imported objects
  stay alive, so that Python does not search for cycles before.
  """
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda number, _: end_at_once(number))
  gc.disable()


def end_at_once(number: int, message: str = INTERRUPTED) -> NoReturn:
  """Ends the process immediately, with a line on stderr.

  The signal determines the exit code, as in a shell.
  """
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'\n{message}\n'.encode())
  os._exit(128 + number)


def search_for_cycles() -> None:
  """Lets Python search for cycles among objects that are created from now on.

  Earlier objects count as old, which Python seldom searches.
  """
  gc.freeze()
  gc.unfreeze()
  gc.enable()


@contextlib.contextmanager
def without_search() -> Iterator[None]:
  """Prevents the search for cycles while long-lived objects are created."""
  gc.disable()
  try:
    yield
  finally:
    search_for_cycles()


def begin_if_run(package: str) -> None:
  """Calls `begin` if Python runs a module of a package that is being imported.

  Other programs that import the package are left alone.
  """
  # Python has '-m' there while it looks for the module to run.
  if sys.argv[:1] == ['-m'] and any(
    argument.startswith(package) for argument in sys.orig_argv
  ):
    begin()
