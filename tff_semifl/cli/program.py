# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What all programs share: clear errors, quiet libraries, Ctrl-C."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
import pathlib
import select
import signal
import sys
import sysconfig
import traceback
from typing import Any, NoReturn

from absl import app
from absl import flags
from absl import logging
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.cli import command_text
from tff_semifl.cli import interrupts

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PACKAGE = pathlib.Path(__file__).parents[1]
_LIBRARIES = (
  f'{_PACKAGE}{os.sep}',
  # In a clone, these folders are beside the package.
  *(f'{_PACKAGE.with_name(name)}{os.sep}' for name in ('launch', 'tasks')),
  f'{sysconfig.get_path("stdlib")}{os.sep}',
)
INTERRUPTED = interrupts.INTERRUPTED
RESUMES = (
  f'{INTERRUPTED}; the same command goes on from the last complete round'
)


class FlagError(Exception):
  """A flag has a value that the program cannot work with."""


@contextlib.contextmanager
def blame(
  flag: flags.FlagHolder, *errors: type[Exception], value: object = None
) -> Iterator[None]:
  """Turns errors in the `with` block into a one-line error about a flag."""
  try:
    yield
  except errors as error:
    value = flag.value if value is None else value
    # None means that the flag was not given.
    shown = '' if value is None else f'={settings.show(value)}'
    problem = str(error)
    if isinstance(error, OSError) and error.filename:
      problem = f'{error.filename}: {error.strerror}'
    raise FlagError(f'flag --{flag.name}{shown}: {problem}') from error


def is_quiet() -> bool:
  """Whether to hide progress, which absl's --verbosity below 0 does."""
  flag = flags.FLAGS['verbosity']
  return bool(flag.present) and flag.value < 0


def parse_flags(argv: Sequence[str], *, known_only: bool = False) -> list[str]:
  """Parses flags as `flags.FLAGS` does, but --help prints to stdout, exit 0.

  Returns the arguments that are not flags, without the program.
  """
  asked = command_text.HELP.intersection(argv)
  if asked:
    is_full = any(each.endswith('helpfull') for each in asked)
    app.usage(shorthelp=not is_full, writeto_stdout=True, exitcode=0)
  return flags.FLAGS(argv, known_only)[1:]


def parse_flags_alone(argv: Sequence[str]) -> tuple[()]:
  """Parses a command line that may have only flags."""
  for argument in parse_flags(argv):
    raise FlagError(f'unexpected argument {argument!r}; flags are --name=value')
  return ()


def run(
  main: Callable[..., None],
  *,
  arguments: Sequence[str] | None = None,
  parse: Callable[[Sequence[str]], Sequence[Any]] = parse_flags_alone,
  interrupted: str = INTERRUPTED,
) -> None:
  """Parses flags, runs `main` and ends the process.

  The exit code is 0 for success; 1 for invalid flags, as in absl; 130 after
  Ctrl-C and 143 after SIGTERM, as in a shell. The first such signal ends the
  program in order.

  Args:
    arguments: The command line without the program. By default the process's
      command line, with the contents of flagfiles in front.
    parse: Parses the command line, handles --help, and returns the arguments
      of `main`.
    interrupted: The last line if the program is interrupted.
  """

  def guarded_main(parsed: Sequence[Any]) -> None:
    # By default TensorFlow allocates all memory of a GPU at once.
    for gpu in tf.config.list_physical_devices('GPU'):
      tf.config.experimental.set_memory_growth(gpu, True)
    # Remarks about converted functions and written files do not help users.
    tf.get_logger().setLevel('ERROR')
    if not flags.FLAGS['verbosity'].present:
      logging.set_verbosity(logging.WARNING)
    for problem in command_text.find_repeated(given):
      logging.warning('%s; the last one counts', problem)
    signals = _note_interrupts()
    try:
      main(*parsed)
    except (KeyboardInterrupt, Exception) as error:
      # TensorFlow's C++ code sometimes turns an interrupt into another error.
      if signals:
        end(f'\n{interrupted}', 128 + signals[0])
      end_with_error(error)
    finally:
      # From here on, nothing catches a KeyboardInterrupt.
      for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
          signal.signal(number, signal.SIG_DFL)

  def guarded_parse(argv: Sequence[str]) -> Sequence[Any]:
    try:
      return parse(argv)
    except Exception as error:
      end_with_error(error)

  given = command_text.read()
  # absl prints this docstring as help.
  sys.modules['__main__'].__doc__ = command_text.describe_program()
  if arguments is None:
    try:
      arguments = command_text.files_first(given)
    except flags.Error as error:
      end_with_error(error)
  try:
    app.run(guarded_main, [sys.argv[0], *arguments], guarded_parse)
  except (SystemExit, BrokenPipeError) as error:
    if not _is_unread():
      raise
    # As in `--help | head`. Python would flush the rest at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(error.code if isinstance(error, SystemExit) else 1)


def describe(error: BaseException) -> str | None:
  """One line about an error of a flag; None for any other error."""
  if isinstance(error, settings.SettingError):
    return f'flag --{error}'
  if isinstance(error, flags.Error):
    return command_text.explain(error)
  if isinstance(error, FlagError):
    return str(error)
  return None


def end_with_error(error: BaseException) -> NoReturn:
  """Ends the program with a line about an error of a flag.

  If the error comes from a user's module, the failed lines come first. Any
  other error is raised again.
  """
  line = describe(error)
  if line is None:
    raise error
  lines = ''
  if error.__cause__ is not None:
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    frames = [frame for frame in frames if _is_users(frame.filename)]
    lines = ''.join(traceback.format_list(frames))
  end(f'{lines}{line}')


def _is_users(file: str) -> bool:
  return (
    not file.startswith(('<', *_LIBRARIES))
    and f'{os.sep}site-packages{os.sep}' not in file
  )


def end(line: str, code: int = 1) -> NoReturn:
  """Ends the program with a line on stderr and an exit code."""
  # Otherwise buffered output to a file or a pipe would follow the line.
  with contextlib.suppress(OSError):
    sys.stdout.flush()
  print(line, file=sys.stderr)
  sys.exit(code)


def _is_unread() -> bool:
  """Whether stdout is a pipe without a reader."""
  poll = select.poll()
  try:
    poll.register(sys.stdout, select.POLLOUT)
  except OSError:
    # Python code has replaced stdout, as in tests.
    return False
  return any(event & select.POLLERR for _, event in poll.poll(0))


def _note_interrupts() -> Sequence[int]:
  """Lets Ctrl-C and SIGTERM raise KeyboardInterrupt; lists signals received."""
  seen = []

  def handle(number, frame):
    seen.append(number)
    # A second signal ends the program at once.
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt(signal.Signals(number).name)

  for number in _SIGNALS:
    # A background job of a shell ignores Ctrl-C, and continues to do so.
    if signal.getsignal(number) != signal.SIG_IGN:
      signal.signal(number, handle)
  return seen
