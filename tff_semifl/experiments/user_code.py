# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors in a user's code, reported with the user's lines first."""

from collections.abc import Callable, Sequence
import contextlib
import os
import pathlib
import re
import sys
import sysconfig
import tempfile
import traceback

import tensorflow as tf

from tff_semifl.core import hook_results

# The name of a node in an error of TensorFlow.
_NODE = re.compile(r'\{\{node ([^}\s]+)\}\}')
_CREATED = 'The operation that failed was created here (most recent call last):'
_PACKAGE = pathlib.Path(__file__).parents[1]
_LIBRARIES = (
  f'{_PACKAGE}{os.sep}',
  # In a clone they are beside the package.
  *(f'{_PACKAGE.with_name(name)}{os.sep}' for name in ('launch', 'tasks')),
  f'{sysconfig.get_path("stdlib")}{os.sep}',
)


class SavedIn(str):
  """A note on an error: the file with its traceback."""

  __slots__ = ()


def describe(error: BaseException) -> str | None:
  """Describes an error of a user's code, and writes its traceback to a file.

  Args:
    error: Any error.

  Returns:
    Lines: the user's code, the error, its notes and the file of the traceback.
    None if no line of a user's code is known to be the cause.
  """
  notes = getattr(error, '__notes__', [])
  lines = [each for each in notes if isinstance(each, hook_results.Definition)]
  if not lines:
    lines = [show_lines(error)]
  if not any(lines):
    return None
  lines.append(f'{type(error).__name__}: {error}')
  lines.extend(
    each for each in notes if not isinstance(each, hook_results.Definition)
  )
  if not any(isinstance(each, SavedIn) for each in notes):
    lines.append(_save(error))
  return '\n'.join(lines)


def show_lines(error: BaseException) -> str:
  """The user's lines in the traceback of an error, or of its cause; or ''."""
  return ''.join(traceback.format_list(_frames(error))).rstrip()


def add_log(error: Exception, log: pathlib.Path) -> None:
  """Appends the traceback to a log, and notes that on the error.

  Args:
    error: The error.
    log: The file. If it cannot be written, there is no note.
  """
  with contextlib.suppress(OSError), log.open('a') as file:
    traceback.print_exception(error, file=file)
    error.add_note(SavedIn(f'The traceback is in {log}.'))


def _save(error: BaseException) -> str:
  descriptor, path = tempfile.mkstemp(suffix='.txt', prefix='tff_semifl_')
  with open(descriptor, 'w') as file:
    traceback.print_exception(error, file=file)
  return f'The traceback is in {path}.'


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
  """The frames of users in the traceback of an error, or of its cause."""
  found = []
  while error is not None and not found:
    found = _of_users(traceback.extract_tb(error.__traceback__))
    error = error.__cause__
  return found


def add_definition(error: Exception, build: Callable[[], object]) -> None:
  """Notes the user's lines that created a failed operation on its error.

  TFF's computations lack the lines that TensorFlow records while an operation
  is created, so operations are created once more.

  Args:
    error: An error of TensorFlow, whose message names the operation. Without
      one, or if no user created it, there is no note.
    build: Creates the operations anew.
  """
  names = _NODE.findall(str(error))
  if not names:
    return
  definitions = {
    ''.join(traceback.format_list(found)).rstrip()
    for operation in _find_operations(names[0], build)
    if (found := _of_users(_within_build(operation.traceback)))
  }
  # Operations of several functions may have the same name.
  text = '\nor\n'.join(sorted(definitions))
  if text:
    error.add_note(hook_results.Definition(f'{_CREATED}\n{text}'))


def _find_operations(
  name: str, build: Callable[[], object]
) -> list[tf.Operation]:
  """The operations that a name in an error of TensorFlow may mean."""
  found = {}

  def observe(frame, event, result):
    del frame
    # Functions in the place of calls have longer names: `while/body/_7/Add`.
    if (
      event == 'return'
      and isinstance(result, tf.Operation)
      and f'/{name}'.endswith(f'/{result.name}')
    ):
      found[id(result)] = result

  before = sys.getprofile()
  sys.setprofile(observe)
  try:
    build()
  finally:
    sys.setprofile(before)
  longest = max((len(each.name) for each in found.values()), default=0)
  return [each for each in found.values() if len(each.name) == longest]


def _within_build(
  stack: Sequence[traceback.FrameSummary],
) -> Sequence[traceback.FrameSummary]:
  """The frames below the call of `build`."""
  files = [frame.filename for frame in stack]
  return stack[len(files) - files[::-1].index(__file__) :]


def _of_users(
  stack: Sequence[traceback.FrameSummary],
) -> list[traceback.FrameSummary]:
  return [
    # With the line of the code, which frames of operations lack.
    traceback.FrameSummary(frame.filename, frame.lineno, frame.name)
    for frame in stack
    if _is_users(frame.filename)
  ]


def _is_users(file: str) -> bool:
  return (
    not file.startswith(('<', *_LIBRARIES))
    and f'{os.sep}site-packages{os.sep}' not in file
    # Not code that AutoGraph generated from a user's code.
    and not os.path.basename(file).startswith('__autograph_generated')
  )
