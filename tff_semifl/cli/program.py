# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The start and end of all programs: flags, error messages, logs, Ctrl-C.

This module does not import TensorFlow, which takes seconds.
"""

import atexit
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
import contextlib
import functools
import gc
import os
import pathlib
import select
import signal
import sys
import sysconfig
import traceback
from typing import NoReturn

from absl import flags
from absl import logging

import tff_semifl
from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import help_text

# TensorFlow reads this variable on import. Its messages about the machine would
# hide the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PACKAGE = pathlib.Path(__file__).parents[1]
_LIBRARIES = (
  f'{_PACKAGE}{os.sep}',
  # In a clone, these folders are beside the package.
  *(f'{_PACKAGE.with_name(name)}{os.sep}' for name in ('launch', 'tasks')),
  f'{sysconfig.get_path("stdlib")}{os.sep}',
)
INTERRUPTED = 'interrupted'
RESUMES = (
  f'{INTERRUPTED}; the same command goes on from the last complete round'
)


def begin() -> None:
  """Speeds up imports; Ctrl-C during imports prints no traceback."""
  # Graphs create millions of long-lived objects. With Python's default
  # threshold of 700 new objects, garbage collections take two of six seconds of
  # a start.
  gc.set_threshold(100_000)
  atexit.register(gc.freeze)
  # A background job of a shell ignores Ctrl-C, and continues to do so.
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end_at_once)


def _end_at_once(number: int, _frame: object) -> NoReturn:
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'\n{INTERRUPTED}\n'.encode())
  os._exit(128 + number)


def read_arguments() -> list[str]:
  """The command line of this process, without the program.

  With --version, prints the version and ends the process.
  """
  if '--version' in sys.argv[1:]:
    print(f'tff-semifl {tff_semifl.__version__}')
    sys.exit(0)
  return sys.argv[1:]


@contextlib.contextmanager
def _allow_unread_output() -> Iterator[None]:
  """Ends the program quietly if nobody reads its output, as after `| head`."""
  try:
    yield
  except BrokenPipeError:
    if not _is_unread():
      raise
    sys.exit(1)
  finally:
    if _is_unread():
      # Otherwise Python would flush the rest at exit.
      os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_unread() -> bool:
  """Whether stdout is a pipe without a reader."""
  poll = select.poll()
  try:
    poll.register(sys.stdout, select.POLLOUT)
  except OSError:
    # Python code has replaced stdout, for example in tests.
    return False
  return any(event & select.POLLERR for _, event in poll.poll(0))


@_allow_unread_output()
def run(
  main: Callable[..., None],
  create: command_line.Create | settings.Settings,
  *,
  how: str | None = None,
  arguments: Sequence[str] | None = None,
  common: Mapping[str, str] = help_text.COMMON,
  elsewhere: Callable[[], Collection[str]] = frozenset,
  takes: Callable[[str], bool] | None = None,
  interrupted: str = INTERRUPTED,
) -> None:
  """Parses flags, runs `main` with the settings and ends the process.

  The exit code is 0 for success; 1 for invalid flags; 130 after Ctrl-C and 143
  after SIGTERM, as in a shell. The first signal ends the program cleanly.

  Args:
    create: The program's settings, or a function that creates them from a
      mapping of names to changed values.
    how: The command in messages; by default the command of the running program.
    arguments: The command line without the program. By default the process's
      command line, after the contents of flagfiles.
    common: Help on flags that are not settings.
    elsewhere: See `command_line.parse`.
    takes: Returns whether the program accepts an argument that is not one of
      its flags. `main` gets a list of these arguments as its second argument.
    interrupted: The last line if the program is interrupted.
  """
  if isinstance(create, settings.Settings):
    create = functools.partial(settings.change, create)
  try:
    if arguments is None:
      arguments = command_line.read_flagfiles(read_arguments())
    levels, arguments = command_line.read(arguments, {'verbosity': int})
    # Other packages may also read absl's flags.
    flags.FLAGS(['', *(f'--verbosity={level}' for level in levels.values())])
    how = how or command_line.name_program()
    if command_line.HELP.intersection(arguments):
      chosen, _, _ = command_line.choose(create, arguments)
      print(command_line.describe_program())
      print(f'usage: {how} [--flag=value ...]')
      print(help_text.format_help(chosen, common))
      sys.exit()
    part, taken = command_line.parse(create, arguments, how, elsewhere, takes)
  except Exception as error:
    end_with_error(error)
  _quiet_libraries()
  with _ending_in_order(interrupted):
    main(part) if takes is None else main(part, taken)


def _quiet_libraries() -> None:
  logging.use_absl_handler()
  if not flags.FLAGS['verbosity'].present:
    logging.set_verbosity(logging.WARNING)
  # Not imported here, because some programs do not need TensorFlow.
  if 'tensorflow' in sys.modules:
    import tensorflow as tf

    # By default TensorFlow allocates all memory of a GPU at once.
    for gpu in tf.config.list_physical_devices('GPU'):
      tf.config.experimental.set_memory_growth(gpu, True)
    # Users do not need remarks about converted functions and written files.
    tf.get_logger().setLevel('ERROR')
  if 'tensorflow_federated' in sys.modules:
    # Its atexit function ends TFF's default context without a traceback.
    from tff_semifl import runtime  # noqa: F401


@contextlib.contextmanager
def _ending_in_order(interrupted: str) -> Iterator[None]:
  """Ends the program with one line after an interrupt or an error in a flag."""
  seen = []

  def handle(number, frame):
    seen.append(number)
    # A second signal ends the program at once.
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt(signal.Signals(number).name)

  # A background job of a shell ignores Ctrl-C, and continues to do so.
  numbers = [n for n in _SIGNALS if signal.getsignal(n) != signal.SIG_IGN]
  for number in numbers:
    signal.signal(number, handle)
  try:
    yield
  except (KeyboardInterrupt, Exception) as error:
    # TensorFlow's C++ code sometimes turns an interrupt into another error.
    if seen:
      end(f'\n{interrupted}', 128 + seen[0])
    end_with_error(error)
  finally:
    # From here on, nothing catches a KeyboardInterrupt.
    for number in numbers:
      signal.signal(number, signal.SIG_DFL)


def describe(error: BaseException) -> str | None:
  """One line about an error in a flag; None for other errors."""
  if isinstance(error, settings.SettingError):
    return f'flag --{error}'
  if isinstance(error, command_line.UsageError):
    return str(error)
  return None


def end_with_error(error: BaseException) -> NoReturn:
  """Ends the program with a line about an error in a flag.

  If a user's module caused the error, the failed code lines are printed first.
  Errors that are not about a flag are reraised.
  """
  line = describe(error)
  if line is None:
    raise error
  lines = ''
  if error.__cause__ is not None:
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    lines = ''.join(
      traceback.format_list(
        frame
        for frame in frames
        if not frame.filename.startswith(('<', *_LIBRARIES))
        and f'{os.sep}site-packages{os.sep}' not in frame.filename
      )
    )
  end(f'{lines}{line}')


def end(line: str, code: int = 1) -> NoReturn:
  """Ends the program with a line on stderr and an exit code."""
  # Otherwise buffered output would follow the line.
  with contextlib.suppress(OSError):
    sys.stdout.flush()
  print(line, file=sys.stderr)
  sys.exit(code)
