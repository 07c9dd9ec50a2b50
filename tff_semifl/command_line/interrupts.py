# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""How programs begin and end: Ctrl-C, and when Python searches for cycles."""

import atexit
from collections.abc import Iterator
import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

# TensorFlow reads this variable when it is first imported, which happens later.
# Its remarks about the machine would bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# The number of new objects after which Python searches for unreachable cycles.
# Graphs create millions of objects that stay alive: with Python's default of
# 700, the search takes a tenth of the time that it takes to build them.
gc.set_threshold(100_000)

# At the end it would search all of them, to free what goes with the process
# anyway: a second and a half.
atexit.register(gc.freeze)


# The last line of a program that was interrupted.
INTERRUPTED = 'interrupted'


def begin() -> None:
  """Begins a program: Ctrl-C ends it, without a traceback of what it imports.

  Programs that have read their flags end in order instead. Until then Python
  does not search for unreachable cycles: what is imported stays alive.
  """
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda number, _: end_at_once(number))
  gc.disable()


def end_at_once(number: int, message: str = INTERRUPTED) -> NoReturn:
  """Ends the process, whatever it does, with a line on stderr.

  Args:
    number: The signal, which the exit code tells, as a shell's does.
    message: The line.
  """
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'\n{message}\n'.encode())
  os._exit(128 + number)


def search_for_cycles() -> None:
  """Lets Python search for unreachable cycles, in what is created from now on.

  What was there before counts as old, which Python seldom searches.
  """
  gc.freeze()
  gc.unfreeze()
  gc.enable()


@contextlib.contextmanager
def without_search() -> Iterator[None]:
  """While what is created stays alive: Python searches for no cycles."""
  gc.disable()
  try:
    yield
  finally:
    search_for_cycles()


def begin_if_run(package: str) -> None:
  """Begins a program if a module of a package is what Python was told to run.

  Programs of others that import the package keep what they do.

  Args:
    package: The name of the package, which is being imported.
  """
  # Python has '-m' there while it looks for the module to run.
  if sys.argv[:1] == ['-m'] and any(
    argument.startswith(package) for argument in sys.orig_argv
  ):
    begin()
