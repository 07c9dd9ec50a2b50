# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files that are complete or absent, even after a power cut.

The same holds for folders, except that for a moment neither the old nor the new
folder is in place.
"""

from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
import shutil
import stat
from typing import BinaryIO

import tensorflow as tf

_TEMPORARY = '.temporary'
_SPECIAL_FILES = {
  stat.S_IFIFO: 'a FIFO',
  stat.S_IFDIR: 'a folder',
  stat.S_IFSOCK: 'a socket',
  stat.S_IFCHR: 'a device',
  stat.S_IFBLK: 'a device',
}


class OutputError(Exception):
  """A folder cannot be written to, or its content is not as expected."""


@contextlib.contextmanager
def naming(
  path: pathlib.Path,
  remedy: str = (
    'with this mended, the same command goes on from the last complete round'
  ),
) -> Iterator[None]:
  """Turns file errors in the `with` block into one that names a path.

  Args:
    path: The file or folder that is being written.
    remedy: The last part of the error message, which says what to do.

  Raises:
    OutputError: If Python or TensorFlow raises a file error, for example
      because the disk is full, or the folder is gone or read-only.
  """
  try:
    yield
  except (OSError, tf.errors.OpError) as error:
    raise OutputError(
      f'cannot write {path}: {_reason(error)}; {remedy}'
    ) from error


def describe_special_file(path: pathlib.Path) -> str | None:
  """Describes a path that is not a regular file, such as 'a FIFO'.

  Opening a FIFO may block for ever, and a device may have no end.

  Args:
    path: The path of a file, or of a link to one.

  Returns:
    The description; None if there is a regular file, or nothing.

  Raises:
    OSError: If the kind of file cannot be determined.
  """
  try:
    mode = path.stat().st_mode
  except FileNotFoundError:
    return 'a link to nothing' if path.is_symlink() else None
  return _SPECIAL_FILES.get(stat.S_IFMT(mode))


def require_file(path: pathlib.Path, remedy: str) -> None:
  """Checks that a path is a regular file, or that nothing is there.

  Args:
    path: The path.
    remedy: The last part of the error message, which says what to do.

  Raises:
    OutputError: If something else is there.
  """
  found = describe_special_file(path)
  if found is not None:
    raise OutputError(f'{path} is {found}, not a file; {remedy}')


@contextlib.contextmanager
def replacing(path: pathlib.Path, mode: int = 0o666) -> Iterator[BinaryIO]:
  """Writes a file that takes its place when the `with` block ends well.

  Args:
    path: The file. One that is already there stays until then.
    mode: Permissions of the file from its creation on, restricted by the umask
      of the process.

  Yields:
    The file, open for writing.

  Raises:
    OutputError: If something other than a file is in the place of the
      unfinished file.
  """
  temporary = temporary_path(path)
  require_file(temporary, 'remove it, and the same command goes on')
  try:
    # A file that a kill left behind may have another mode.
    temporary.unlink(missing_ok=True)
    with open(
      temporary, 'xb', opener=functools.partial(os.open, mode=mode)
    ) as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    temporary.rename(path)
  except BaseException:
    temporary.unlink(missing_ok=True)
    raise
  sync(path.parent)


def temporary_path(path: pathlib.Path) -> pathlib.Path:
  """Returns the path at which `replacing` writes a file until it is complete.

  Args:
    path: The path of the complete file.
  """
  return path.with_suffix(_TEMPORARY)


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes the unfinished files that a kill left in a folder."""
  for path in folder.glob(f'*{_TEMPORARY}'):
    with naming(path):
      path.unlink()


@contextlib.contextmanager
def replacing_folder(path: pathlib.Path) -> Iterator[pathlib.Path]:
  """Fills a folder that takes its place when the `with` block ends well.

  Args:
    path: The folder, or a link to it. One that is already there stays until
      then.

  Yields:
    An empty folder to fill.
  """
  path = path.resolve()
  temporary = path.with_name(f'{path.name}{_TEMPORARY}')
  replaced = path.with_name(f'{path.name}.replaced')
  shutil.rmtree(temporary, ignore_errors=True)
  # An earlier version renamed links.
  if replaced.is_symlink():
    replaced.unlink()
  shutil.rmtree(replaced, ignore_errors=True)
  temporary.mkdir(parents=True)
  try:
    yield temporary
    for inner in (temporary, *temporary.rglob('*')):
      sync(inner)
    if path.exists():
      path.rename(replaced)
    temporary.rename(path)
  except BaseException:
    shutil.rmtree(temporary, ignore_errors=True)
    raise
  sync(path.parent)
  shutil.rmtree(replaced, ignore_errors=True)


def sync(path: pathlib.Path) -> None:
  """Waits until a file, or the list of a folder's files, is on the disk."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)


def _reason(error: OSError | tf.errors.OpError) -> str:
  if isinstance(error, OSError):
    return error.strerror or str(error)
  # TensorFlow puts the path before the system's message, and the name of an
  # operation and a stack after it.
  said = error.message.splitlines()[0].rpartition('; ')[2]
  return said.partition(' [Op:')[0]
