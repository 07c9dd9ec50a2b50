# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files of the arrays of a nested structure, by name.

They are NumPy's `.npz` files. Zip has checksums, and reading runs no code from
the file.
"""

from collections.abc import Mapping
import io
import pathlib
from typing import Any
import zipfile

import numpy as np
import tree

from tff_semifl.files import durable_files

# NumPy's kinds for Booleans, integers, unsigned integers, floats, complex
# numbers and bytes.
_KINDS = 'biufcS'


class DamagedFileError(Exception):
  """Raised if a file is not as it was written."""


def write(path: pathlib.Path, structure: Any) -> None:
  """Writes a file atomically, in place of an existing one.

  The structure nests numbers, arrays of numbers, and bytes without a trailing
  zero. Each is named by its path, such as `weights/trainable/0`.
  """
  # `savez` would leave a broken file if it failed.
  content = io.BytesIO()
  np.savez(content, **_by_name(structure))
  with durable_files.replacing(path) as file:
    file.write(content.getbuffer())


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """The arrays by name; a DamagedFileError if damaged or missing."""
  try:
    found = durable_files.describe_special_file(path)
    if found is not None:
      raise ValueError(f'it is {found}, not a file')
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
      # `np.load` would miss an array whose damaged header says that it is
      # shorter: it would stop before the checksum.
      wrong = archive.testzip()
    if wrong is not None:
      raise ValueError(f'{wrong!r} is not as it was saved')
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
      return {name: arrays[name] for name in arrays.files}
  except Exception as error:  # Its type depends on the damaged byte.
    raise DamagedFileError(f'{path} is damaged: {error}') from error


def pack_as(structure: Any, arrays: Mapping[str, np.ndarray]) -> Any:
  """Packs arrays from `read` into a structure like the written one.

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
    if name in arrays:
      raise ValueError(f'Two arrays have the same name, {name!r}.')
    # NumPy would drop a trailing zero as padding.
    is_cut = isinstance(leaf, bytes) and leaf.endswith(b'\0')
    if array.dtype.kind not in _KINDS or is_cut:
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
