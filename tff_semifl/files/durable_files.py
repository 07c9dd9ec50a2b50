# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files and folders that are complete or absent, even after a power cut."""

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
  """Raised if a folder cannot be written to, or has unexpected content."""


@contextlib.contextmanager
def naming(
  path: pathlib.Path,
  remedy: str = (
    'with this mended, the same command goes on from the last complete round'
  ),
) -> Iterator[None]:
  """Turns file errors of Python and TensorFlow into one that names a path."""
  try:
    yield
  except (OSError, tf.errors.OpError) as error:
    raise OutputError(
      f'cannot write {path}: {_reason(error)}; {remedy}'
    ) from error


def describe_special_file(path: pathlib.Path) -> str | None:
  """What a path is, such as 'a FIFO', or None for a regular file or nothing.

  Opening a FIFO may block, and a device may have no end.
  """
  try:
    mode = path.stat().st_mode
  except FileNotFoundError:
    return 'a link to nothing' if path.is_symlink() else None
  return _SPECIAL_FILES.get(stat.S_IFMT(mode))


def require_file(path: pathlib.Path, remedy: str) -> None:
  """Raises an OutputError if a path is neither a regular file nor free."""
  found = describe_special_file(path)
  if found is not None:
    raise OutputError(f'{path} is {found}, not a file; {remedy}')


@contextlib.contextmanager
def replacing(path: pathlib.Path, mode: int = 0o666) -> Iterator[BinaryIO]:
  """Opens a file that replaces another when the `with` block succeeds.

  Its permissions are `mode` from its creation on, restricted by the umask.
  """
  temporary = temporary_path(path)
  require_file(temporary, 'remove it, and the same command goes on')
  try:
    # A file that a killed process left may have another mode.
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
  """The path at which `replacing` writes until the file is complete."""
  return path.with_suffix(_TEMPORARY)


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes files that a killed process left unfinished in a folder."""
  for path in folder.glob(f'*{_TEMPORARY}'):
    with naming(path):
      path.unlink()


@contextlib.contextmanager
def replacing_folder(path: pathlib.Path) -> Iterator[pathlib.Path]:
  """Yields an empty folder that replaces another when the block succeeds.

  For a moment, neither the old nor the new one is in place.
  """
  path = path.resolve()
  temporary = path.with_name(f'{path.name}{_TEMPORARY}')
  replaced = path.with_name(f'{path.name}.replaced')
  shutil.rmtree(temporary, ignore_errors=True)
  # `rmtree` refuses links.
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
  """Waits until a file, or a folder's list of files, is on the disk."""
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
