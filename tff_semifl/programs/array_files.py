# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files with all arrays of a nested structure, each by its name.

They are NumPy's `.npz`: whoever has that can read them. A zip file has
checksums, and nothing in it is code to be run.
"""

from collections.abc import Mapping
import io
import pathlib
from typing import Any
import zipfile

import numpy as np
import tree

from tff_semifl.programs import durable_files

# Truth values, integers, floats, complex numbers, bytes.
_KINDS = 'biufcS'


class DamagedFileError(Exception):
  """A file is not as it was written."""


def write(path: pathlib.Path, structure: Any) -> None:
  """Writes a file, which is in place as a whole or not at all.

  Args:
    path: Where it is to be; what is there stays until then.
    structure: Arrays of numbers, numbers and bytes (without a zero at the end),
      nested in dicts, sequences and classes of attrs. Each is named by the way
      to it: `weights/trainable/0`.

  Raises:
    OSError: If it cannot be written.
    TypeError: If there is anything else, or a number of a type not NumPy's.
    ValueError: If two have the same name.
  """
  # `savez` leaves a file that it cannot finish in disorder.
  content = io.BytesIO()
  np.savez(content, **_by_name(structure))
  with durable_files.replacing(path) as file:
    file.write(content.getbuffer())


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Reads a file.

  Args:
    path: Where it is.

  Returns:
    The arrays by their names.

  Raises:
    DamagedFileError: If it is damaged, or there is none.
  """
  try:
    found = durable_files.describe_special_file(path)
    if found is not None:
      raise ValueError(f'it is {found}, not a file')
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
      # An array that is said to be short would not be read to its checksum.
      wrong = archive.testzip()
    if wrong is not None:
      raise ValueError(f'{wrong!r} is not as it was saved')
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
      return {name: arrays[name] for name in arrays.files}
  except Exception as error:  # Which one depends on the damaged byte.
    raise DamagedFileError(f'{path} is damaged: {error}') from error


def pack_as(structure: Any, arrays: Mapping[str, np.ndarray]) -> Any:
  """Puts arrays into a structure.

  Args:
    structure: What was written, as far as names, dtypes and shapes go.
    arrays: As `read` returns them.

  Raises:
    ValueError: If they are of another structure.
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
  """Returns all arrays of a structure, in its order."""
  arrays = {}
  for path, leaf in tree.flatten_with_path(structure):
    name = '/'.join(map(str, path))
    array = np.asarray(leaf)
    if name in arrays:
      raise ValueError(f'Two arrays have the same name, {name!r}.')
    # NumPy takes zeros at the end for padding.
    is_cut = isinstance(leaf, bytes) and leaf.endswith(b'\0')
    if array.dtype.kind not in _KINDS or is_cut:
      raise TypeError(
        'Expected numbers, or bytes without a zero at the end, found'
        f' {leaf!r} as {name!r}.'
      )
    arrays[name] = array
  return arrays


def _describe(array: np.ndarray) -> str:
  # Of bytes, NumPy counts their length to the type.
  dtype = 'bytes' if array.dtype.kind == 'S' else array.dtype
  return f'{dtype}{list(array.shape)}'
