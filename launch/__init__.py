# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command-line programs."""

import atexit
import gc
import os
import signal
import sys

# TensorFlow reads this variable when it is first imported, which happens later.
# Its remarks about the machine would bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# The number of new objects after which Python searches for unreachable cycles.
# Imports and graphs create millions of objects that stay alive: with Python's
# default of 700, the search takes a tenth of the time until training begins.
gc.set_threshold(100_000)

# At the end it would search all of them, to free what goes with the process
# anyway: a second and a half.
atexit.register(gc.freeze)


def end_at_interrupt() -> None:
  """Lets Ctrl-C end the process, without a traceback of what it imports.

  Programs that have read their flags end in order instead.
  """
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Python has that there while it looks for the module of `python -m`. Programs
# of others that import this one keep what they do at Ctrl-C.
if sys.argv[:1] == ['-m']:
  end_at_interrupt()
