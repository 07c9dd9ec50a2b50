# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes files and folders atomically: complete or absent after a power cut."""

from collections.abc import Iterator, Mapping
import contextlib
import functools
import io
import os
import pathlib
import shutil
from typing import Any, BinaryIO
import zipfile

import numpy as np
import tensorflow as tf
import tree

_TEMPORARY = '.temporary'


class OutputError(Exception):
  """A folder cannot be written to, or has unexpected content."""


@contextlib.contextmanager
def naming(
  path: pathlib.Path,
  remedy: str = (
    'with this mended, the same command goes on from the last complete round'
  ),
) -> Iterator[None]:
  """Converts file errors in the block to an `OutputError` that names `path`."""
  try:
    yield
  except (OSError, tf.errors.OpError) as error:
    raise OutputError(
      f'cannot write {path}: {_reason(error)}; {remedy}'
    ) from error


def is_special(path: pathlib.Path) -> bool:
  """Whether a path is a folder, a FIFO, a device or a broken link.

  Opening a FIFO may block, and a device may have no end.
  """
  return (path.exists() or path.is_symlink()) and not path.is_file()


@contextlib.contextmanager
def replacing(path: pathlib.Path, mode: int = 0o666) -> Iterator[BinaryIO]:
  """Opens a new file that replaces `path` when the `with` block succeeds.

  The file has the permissions `mode`, restricted by the umask, from the start.
  """
  temporary = temporary_path(path)
  if is_special(temporary):
    raise OutputError(
      f'{temporary} is not a regular file; remove it, and the same command goes'
      ' on'
    )
  try:
    # A killed process may have left a file with a different mode.
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


def write_text(path: pathlib.Path, content: str) -> None:
  """Writes a text file durably; raises an `OutputError` if that fails."""
  with naming(path), replacing(path) as file:
    file.write(content.encode())


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
  """Yields an empty folder that replaces `path` when the `with` block succeeds.

  For a moment, neither the old nor the new folder is at `path`.
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
  # A TensorFlow message is the path, the system's message, the name of an
  # operation and a stack.
  said = error.message.splitlines()[0].rpartition('; ')[2]
  return said.partition(' [Op:')[0]


class DamagedFileError(Exception):
  """A file is missing, or its content differs from what was written."""


def write_arrays(path: pathlib.Path, structure: Any) -> None:
  """Writes the arrays of a structure to a file; replaces the file atomically.

  Leaves are numbers, arrays of numbers, or bytes without a trailing zero. Each
  array is named by its path, such as `weights/trainable/0`.
  """
  # A failing `savez` would leave a broken file.
  content = io.BytesIO()
  np.savez(content, **_by_name(structure))
  with replacing(path) as file:
    file.write(content.getbuffer())


def read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Reads arrays by name; raises a `DamagedFileError` if damaged or missing."""
  try:
    if is_special(path):
      raise ValueError('it is not a regular file')
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
      # If a damaged header makes an array shorter, `np.load` stops before the
      # checksum, and misses the damage.
      wrong = archive.testzip()
    if wrong is not None:
      raise ValueError(f'{wrong!r} is not as it was saved')
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
      return {name: arrays[name] for name in arrays.files}
  except Exception as error:  # The type depends on the damaged byte.
    raise DamagedFileError(f'{path} is damaged: {error}') from error


def pack_as(structure: Any, arrays: Mapping[str, np.ndarray]) -> Any:
  """Packs arrays from `read_arrays` into a structure like `structure`.

  Raises a ValueError if names, dtypes or shapes differ.
  """
  expected = {
    name: _describe(array) for name, array in _by_name(structure).items()
  }
  found = {name: _describe(array) for name, array in arrays.items()}
  for name in sorted({*expected, *found}):
    if expected.get(name) != found.get(name):
      raise ValueError(
        f'Expected {expected.get(name, "nothing")} as {name!r}, found'
        f' {found.get(name, "nothing")}.'
      )
  return tree.unflatten_as(structure, [arrays[name][()] for name in expected])


def _by_name(structure: Any) -> dict[str, np.ndarray]:
  """All arrays of a structure by name, in order."""
  arrays = {}
  for path, leaf in tree.flatten_with_path(structure):
    name = '/'.join(map(str, path))
    array = np.asarray(leaf)
    # NumPy would drop a trailing zero as padding.
    is_cut = isinstance(leaf, bytes) and leaf.endswith(b'\0')
    # Booleans, integers, floats, complex numbers and bytes.
    if array.dtype.kind not in 'biufcS' or is_cut:
      raise TypeError(
        'Expected numbers, or bytes without a zero at the end, found'
        f' {leaf!r} as {name!r}.'
      )
    arrays[name] = array
  return arrays


def _describe(array: np.ndarray) -> str:
  # NumPy's dtypes of bytes include their length.
  dtype = 'bytes' if array.dtype.kind == 'S' else array.dtype
  return f'{dtype}{list(array.shape)}'
