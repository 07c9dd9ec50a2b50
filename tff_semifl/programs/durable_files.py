# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files that are there as a whole or not at all, after a power cut too.

The same of folders, but for a moment between the old one and the new one.
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
  """A folder cannot be written to, or does not hold what it should."""


@contextlib.contextmanager
def naming(
  path: pathlib.Path,
  remedy: str = (
    'with this mended, the same command goes on from the last complete round'
  ),
) -> Iterator[None]:
  """Turns errors of writing in the `with` block into one that names a path.

  Args:
    path: What is being written.
    remedy: What then, for the error.

  Raises:
    OutputError: If the disk is full, the folder is gone or may not be written
      to, or whatever else Python or TensorFlow say of files.
  """
  try:
    yield
  except (OSError, tf.errors.OpError) as error:
    raise OutputError(
      f'cannot write {path}: {_reason(error)}; {remedy}'
    ) from error


def describe_special_file(path: pathlib.Path) -> str | None:
  """Returns what is in the place of a file, if it is none, such as 'a FIFO'.

  Whoever opens a FIFO may wait for ever, and a device may have no end.

  Args:
    path: Where a file should be; a link to one will do.

  Returns:
    What there is, or None for a file, or nothing at all.

  Raises:
    OSError: If that cannot be found out.
  """
  try:
    mode = path.stat().st_mode
  except FileNotFoundError:
    return 'a link to nothing' if path.is_symlink() else None
  return _SPECIAL_FILES.get(stat.S_IFMT(mode))


def require_file(path: pathlib.Path, remedy: str) -> None:
  """Raises an OutputError if something is in the place of a file and is none.

  Args:
    path: Where there is a file, or nothing.
    remedy: What to do, for the error.
  """
  found = describe_special_file(path)
  if found is not None:
    raise OutputError(f'{path} is {found}, not a file; {remedy}')


@contextlib.contextmanager
def replacing(path: pathlib.Path, mode: int = 0o666) -> Iterator[BinaryIO]:
  """Writes a file that takes its place when the `with` block ends well.

  Args:
    path: Where it is to be; what is there stays until then.
    mode: Who may read and write it, from the moment that it is there, less
      what the umask of the process forbids.

  Yields:
    The file, to be written.

  Raises:
    OutputError: If what is in the place of the unfinished file is none.
  """
  temporary = temporary_path(path)
  require_file(temporary, 'remove it, and the same command goes on')
  try:
    # One that a kill left has the mode that it has.
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
  """Returns where `replacing` writes a file before it takes its place."""
  return path.with_suffix(_TEMPORARY)


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes the files of a folder that a kill kept from taking their place."""
  for path in folder.glob(f'*{_TEMPORARY}'):
    with naming(path):
      path.unlink()


@contextlib.contextmanager
def replacing_folder(path: pathlib.Path) -> Iterator[pathlib.Path]:
  """Fills a folder that takes its place when the `with` block ends well.

  Args:
    path: Where it is to be; what is there stays until then.

  Yields:
    The folder, empty.
  """
  temporary = path.with_name(f'{path.name}{_TEMPORARY}')
  replaced = path.with_name(f'{path.name}.replaced')
  shutil.rmtree(temporary, ignore_errors=True)
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
  # TensorFlow puts the path before what the system said, and after it the name
  # of an operation and a stack.
  said = error.message.splitlines()[0].rpartition('; ')[2]
  return said.partition(' [Op:')[0]
