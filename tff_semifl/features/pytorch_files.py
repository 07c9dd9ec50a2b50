# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads the tensors of a PyTorch checkpoint without PyTorch.

The format is that of `torch.save` before PyTorch 1.6: four pickles (a magic
number, a version, facts on the machine, the object), a pickled list of storage
keys, and the storages, each an int64 length and its elements. Pickles may run
any code; these may name only what rebuilds a tensor.
"""

import collections
from collections.abc import Sequence
import pathlib
import pickle
from typing import Any, BinaryIO, NamedTuple
import zipfile

import numpy as np

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_DTYPES = {
  'DoubleStorage': '<f8',
  'FloatStorage': '<f4',
  'HalfStorage': '<f2',
  'LongStorage': '<i8',
  'IntStorage': '<i4',
  'ShortStorage': '<i2',
  'CharStorage': 'i1',
  'ByteStorage': 'u1',
  'BoolStorage': '?',
}


class PyTorchFileError(Exception):
  """A file cannot be read; the message is one line that names the file."""


class _Storage(NamedTuple):
  """Elements that tensors share, not read yet.

  Attributes:
    key: The name of the storage in the file.
    dtype: The type of the elements.
    num_elements: The number of elements.
  """

  key: str
  dtype: np.dtype
  num_elements: int


class _Tensor(NamedTuple):
  """A view of a storage; offset and strides count elements."""

  storage: _Storage
  offset: int
  shape: tuple[int, ...]
  strides: tuple[int, ...]

  def read(self, storages: dict[str, np.ndarray]) -> np.ndarray:
    """Copies the elements out of the storages."""
    numbers = (self.offset, *self.shape, *self.strides)
    if not all(isinstance(each, int) and each >= 0 for each in numbers):
      raise ValueError(f'a tensor has the shape {self.shape}')
    elements = storages[self.storage.key]
    reach = sum(
      (size - 1) * stride
      for size, stride in zip(self.shape, self.strides, strict=True)
    )
    # `as_strided` checks neither bound. No checkpoint has views that repeat
    # elements.
    num_elements = int(np.prod(self.shape, dtype=object))
    if num_elements > len(elements) or (
      num_elements and self.offset + reach >= len(elements)
    ):
      raise ValueError('a tensor is larger than its storage')
    view = np.lib.stride_tricks.as_strided(
      elements[self.offset :],
      self.shape,
      [stride * elements.itemsize for stride in self.strides],
    )
    return np.ascontiguousarray(view).reshape(self.shape)


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Reads the tensors of a checkpoint.

  Returns:
    The tensors by name, with shapes and dtypes as in PyTorch.
  """
  try:
    if zipfile.is_zipfile(path):
      raise ValueError(
        'it is a ZIP file; save it again by torch.save(...,'
        ' _use_new_zipfile_serialization=False)'
      )
    with path.open('rb') as file:
      return _read(file)
  except PyTorchFileError as error:
    raise PyTorchFileError(f'{path} {error}') from None
  except OSError as error:
    raise PyTorchFileError(
      f'{path} cannot be read: {error.strerror}'
    ) from error
  # The type of error depends on the damaged byte.
  except Exception as error:
    reason = str(error).partition('\n')[0] or type(error).__name__
    raise PyTorchFileError(
      f'{path} is damaged, or no PyTorch checkpoint: {reason}'
    ) from error


def _read(file: BinaryIO) -> dict[str, np.ndarray]:
  for expected in (_MAGIC_NUMBER, _VERSION):
    if _Unpickler(file).load() != expected:
      raise ValueError('it begins otherwise')
  if _Unpickler(file).load().get('little_endian') is not True:
    raise ValueError('its numbers are big-endian')
  unpickler = _Unpickler(file)
  tensors = unpickler.load()
  if not isinstance(tensors, dict) or not all(
    isinstance(name, str) and isinstance(tensor, _Tensor)
    for name, tensor in tensors.items()
  ):
    raise PyTorchFileError('holds no state_dict, which has a tensor by name')
  storages = {}
  for key in _Unpickler(file).load():
    storages[key] = _read_storage(file, unpickler.storages[key])
  return {name: tensor.read(storages) for name, tensor in tensors.items()}


def _read_storage(file: BinaryIO, storage: _Storage) -> np.ndarray:
  num_elements = int.from_bytes(file.read(8), 'little')
  if num_elements != storage.num_elements:
    raise ValueError('a storage has another length than its tensors')
  # The file may claim any length, so no memory is taken before it is read.
  content = file.read(num_elements * storage.dtype.itemsize)
  if len(content) != num_elements * storage.dtype.itemsize:
    raise ValueError('it ends too early')
  return np.frombuffer(content, storage.dtype)


class _Unpickler(pickle.Unpickler):
  """Unpickles plain Python values and tensors, and refuses all else.

  Attributes:
    storages: The storages named so far, by key.
  """

  def __init__(self, file: BinaryIO):
    super().__init__(file)
    self.storages: dict[str, _Storage] = {}

  def find_class(self, module: str, name: str) -> Any:
    if (module, name) == ('collections', 'OrderedDict'):
      return collections.OrderedDict
    if (module, name) == ('torch._utils', '_rebuild_tensor_v2'):
      return _rebuild_tensor
    if module == 'torch' and name in _DTYPES:
      return np.dtype(_DTYPES[name])
    raise PyTorchFileError(
      f'is refused: it asks for {module}.{name}, and a checkpoint of tensors'
      ' needs no such code'
    )

  def persistent_load(self, pid: Any) -> _Storage:
    kind, dtype, key, _, num_elements, view = pid
    if (
      kind != 'storage'
      or not isinstance(dtype, np.dtype)
      or not isinstance(num_elements, int)
      or view is not None
    ):
      raise ValueError('it has another kind of storage')
    return self.storages.setdefault(key, _Storage(key, dtype, num_elements))


def _rebuild_tensor(
  storage: _Storage,
  offset: int,
  shape: Sequence[int],
  strides: Sequence[int],
  *_: object,
) -> _Tensor:
  if not isinstance(storage, _Storage):
    raise ValueError('a tensor has no storage')
  return _Tensor(storage, offset, tuple(shape), tuple(strides))
