# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The frame of all programs: clear errors, quiet libraries, Ctrl-C."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
import signal
import sys
import threading
from typing import NoReturn

from absl import app
from absl import flags
from absl import logging
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.launch import invocation

_INTERRUPTED = (
  '\ninterrupted; the same command goes on from the last complete round'
)


class FlagError(Exception):
  """A flag has a value that the program cannot work with."""


@contextlib.contextmanager
def blame(
  flag: flags.FlagHolder, *errors: type[Exception], value: object = None
) -> Iterator[None]:
  """Turns errors in the `with` block into an error of one line about a flag.

  Args:
    flag: The flag whose value causes the errors.
    *errors: Types of the errors to turn.
    value: The value to show in the message; by default that of the flag.

  Raises:
    FlagError: If one of `errors` was raised.
  """
  try:
    yield
  except errors as error:
    shown = flag.value if value is None else value
    raise FlagError(f'flag --{flag.name}={shown}: {error}') from error


def is_quiet() -> bool:
  """Returns whether progress is not to be shown: absl's --verbosity below 0."""
  flag = flags.FLAGS['verbosity']
  return bool(flag.present) and flag.value < 0


def run(
  main: Callable[[], None],
  *,
  arguments: Sequence[str] | None = None,
  parse: Callable[[Sequence[str]], Sequence[str]] | None = None,
) -> None:
  """Parses flags, runs `main` and ends the process.

  The exit code is 0 for success; 1 for invalid flags, as in absl; 130 after
  Ctrl-C and 143 after SIGTERM, as in a shell. The first such signal ends the
  program in order, and a second one ends it at once.

  Args:
    main: The program, called after its flags were parsed.
    arguments: The command line; by default that of the process.
    parse: Parses the command line like `flags.FLAGS`, and returns the arguments
      that are not flags. By default it is `flags.FLAGS`.
  """

  def guarded_main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
      print(
        f'unexpected argument {argv[1]!r}; flags are --name=value',
        file=sys.stderr,
      )
      sys.exit(1)
    # By default TensorFlow takes all memory of a GPU at once, which leaves none
    # for other programs.
    for gpu in tf.config.list_physical_devices('GPU'):
      tf.config.experimental.set_memory_growth(gpu, True)
    # TensorFlow's remarks about converted functions and written files do not
    # help a user.
    tf.get_logger().setLevel('ERROR')
    if not flags.FLAGS['verbosity'].present:
      logging.set_verbosity(logging.WARNING)
    interrupts = _note_interrupts()
    try:
      main()
    except (KeyboardInterrupt, Exception) as error:
      # TensorFlow's C++ code sometimes turns an interrupt into another error.
      if interrupts:
        print(_INTERRUPTED, file=sys.stderr)
        sys.exit(128 + interrupts[0])
      end_with_error(error)

  invocation.answer_version(sys.argv[1:])
  main_module = sys.modules['__main__']
  # absl prints it as help.
  main_module.__doc__ = invocation.spell_commands(main_module.__doc__ or '')
  if arguments is None:
    app.run(guarded_main)
  else:
    app.run(guarded_main, list(arguments), parse)


def describe(error: BaseException) -> str | None:
  """Returns a line about an error of a flag, or None for any other error."""
  if isinstance(error, settings.SettingError):
    return f'flag --{error}'
  if isinstance(error, FlagError | flags.Error):
    return str(error)
  return None


def end_with_error(error: BaseException) -> NoReturn:
  """Ends the program with a line about an error of a flag.

  Args:
    error: The error; any error that is not about a flag is raised again.
  """
  line = describe(error)
  if line is None:
    raise error
  print(line, file=sys.stderr)
  sys.exit(1)


def _note_interrupts() -> Sequence[int]:
  """Lets Ctrl-C and SIGTERM raise a KeyboardInterrupt, and records them.

  Returns:
    The numbers of the signals so far, a list that grows with each signal.
  """
  seen = []

  def handle(number, frame):
    seen.append(number)
    if len(seen) > 1:
      _end_at_once(number)
    raise KeyboardInterrupt

  for number in (signal.SIGINT, signal.SIGTERM):
    # A background job of a shell ignores Ctrl-C, and continues to do so.
    if signal.getsignal(number) != signal.SIG_IGN:
      signal.signal(number, handle)
  # Python calls `handle` only when the main thread returns from C++ code, which
  # may take a whole round. It writes signals to a pipe at once, though, which
  # another thread reads.
  reader, writer = os.pipe()
  os.set_blocking(writer, False)
  signal.set_wakeup_fd(writer)
  threading.Thread(target=_wait_for_second, args=[reader], daemon=True).start()
  return seen


def _wait_for_second(reader: int) -> None:
  """Ends the process at the second SIGINT or SIGTERM."""
  count = 0
  while count < 2:
    number = os.read(reader, 1)[0]
    count += number in (signal.SIGINT, signal.SIGTERM)
  _end_at_once(number)


def _end_at_once(number: int) -> NoReturn:
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'{_INTERRUPTED}\n'.encode())
  os._exit(128 + number)
