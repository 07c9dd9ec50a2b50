# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What all programs have in common: clear errors, quiet libraries, Ctrl-C."""

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

_INTERRUPTED = (
  '\ninterrupted; the same command goes on from the last complete round'
)


class FlagError(Exception):
  """A flag has a value that the program cannot work with."""


@contextlib.contextmanager
def blame(
  flag: flags.FlagHolder, *errors: type[Exception], value: object = None
) -> Iterator[None]:
  """Turns errors in the `with` block into one line about a flag.

  Args:
    flag: The flag whose value is to blame.
    *errors: The types of errors to turn.
    value: What to call its value, if not the value itself.

  Raises:
    FlagError: If one of `errors` was raised.
  """
  try:
    yield
  except errors as error:
    shown = flag.value if value is None else value
    raise FlagError(f'flag --{flag.name}={shown}: {error}') from error


def is_quiet() -> bool:
  """Returns whether the user wants to hear of nothing but what goes wrong.

  That is with absl's --verbosity=-1, for warnings and errors, and less.
  """
  flag = flags.FLAGS['verbosity']
  return bool(flag.present) and flag.value < 0


def run(
  main: Callable[[], None],
  *,
  arguments: Sequence[str] | None = None,
  parse: Callable[[Sequence[str]], Sequence[str]] | None = None,
) -> None:
  """Parses flags, runs `main` and ends the process.

  The exit code is 0; 1, as absl has it, for flags that cannot be used; as a
  shell has it, 130 for Ctrl-C and 143 for SIGTERM. Both end the program in
  order; a second of them ends it at once.

  Args:
    main: The program, after its flags were parsed.
    arguments: The command line, by default that of the process.
    parse: Parses it, as `flags.FLAGS` does, and returns what is left.
  """

  def guarded_main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
      print(
        f'unexpected argument {argv[1]!r}; flags are --name=value',
        file=sys.stderr,
      )
      sys.exit(1)
    # All memory of a GPU would be taken at once, and other programs have none.
    for gpu in tf.config.list_physical_devices('GPU'):
      tf.config.experimental.set_memory_growth(gpu, True)
    # Remarks about converted functions and written files tell a user nothing.
    tf.get_logger().setLevel('ERROR')
    if not flags.FLAGS['verbosity'].present:
      logging.set_verbosity(logging.WARNING)
    interrupts = _note_interrupts()
    try:
      main()
    except (KeyboardInterrupt, Exception) as error:
      # TensorFlow's C++ code makes other errors of an interrupt now and then.
      if interrupts:
        print(_INTERRUPTED, file=sys.stderr)
        sys.exit(128 + interrupts[0])
      end_with_error(error)

  if arguments is None:
    app.run(guarded_main)
  else:
    app.run(guarded_main, list(arguments), parse)


def describe(error: BaseException) -> str | None:
  """Returns a line about an error of a flag, None of any other."""
  if isinstance(error, settings.SettingError):
    return f'flag --{error}'
  if isinstance(error, FlagError | flags.Error):
    return str(error)
  return None


def end_with_error(error: BaseException) -> NoReturn:
  """Ends the program with a line if an error is of a flag, else raises it."""
  line = describe(error)
  if line is None:
    raise error
  print(line, file=sys.stderr)
  sys.exit(1)


def _note_interrupts() -> Sequence[int]:
  """Lets Ctrl-C and SIGTERM raise a KeyboardInterrupt, and remembers them.

  Returns:
    The signals that came since.
  """
  seen = []

  def handle(number, frame):
    seen.append(number)
    if len(seen) > 1:
      _end_at_once(number)
    raise KeyboardInterrupt

  for number in (signal.SIGINT, signal.SIGTERM):
    # A background job of a shell ignores Ctrl-C, and goes on to.
    if signal.getsignal(number) != signal.SIG_IGN:
      signal.signal(number, handle)
  # Python calls `handle` when the main thread is back from C++ code, which may
  # be busy for a whole round; to a pipe it writes at once.
  reader, writer = os.pipe()
  os.set_blocking(writer, False)
  signal.set_wakeup_fd(writer)
  threading.Thread(target=_wait_for_second, args=[reader], daemon=True).start()
  return seen


def _wait_for_second(reader: int) -> None:
  """Ends the process when a second signal of those two comes."""
  count = 0
  while count < 2:
    number = os.read(reader, 1)[0]
    count += number in (signal.SIGINT, signal.SIGTERM)
  _end_at_once(number)


def _end_at_once(number: int) -> NoReturn:
  with contextlib.suppress(OSError):
    os.write(sys.stderr.fileno(), f'{_INTERRUPTED}\n'.encode())
  os._exit(128 + number)
