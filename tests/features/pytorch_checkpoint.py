# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes checkpoints as PyTorch before 1.6 did, without PyTorch."""

import collections
from collections.abc import Mapping
import io
import pathlib
import pickle
import sys
import types
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

_STORAGES = {'float32': 'FloatStorage', 'int64': 'LongStorage'}


class Tensor(NamedTuple):
  """A view of elements; offset and strides count elements."""

  elements: np.ndarray
  offset: int
  shape: tuple[int, ...]
  strides: tuple[int, ...]


def whole(array: np.ndarray) -> Tensor:
  """A tensor that is all of its storage, in C order."""
  strides = tuple(each // array.itemsize for each in array.strides)
  return Tensor(array.ravel(), 0, array.shape, strides)


def write(path: pathlib.Path, content: Any) -> None:
  """Writes a checkpoint."""
  file = io.BytesIO()
  little_endian = {'protocol_version': 1001, 'little_endian': True}
  for each in (0x1950A86A20F9469CFC6C, 1001, little_endian):
    pickle.dump(each, file, protocol=2)
  modules = {each: types.ModuleType(each) for each in ('torch', 'torch._utils')}
  storages = {}

  class FakeStorage(NamedTuple):
    elements: np.ndarray

  class Pickler(pickle.Pickler):
    def persistent_id(self, obj):  # noqa: N802
      if not isinstance(obj, FakeStorage):
        return None
      key = str(id(obj.elements))
      storages[key] = obj.elements
      kind = getattr(modules['torch'], _STORAGES[obj.elements.dtype.name])
      return ('storage', kind, key, 'cpu', len(obj.elements), None)

  class FakeTensor:
    def __init__(self, tensor):
      self._tensor = tensor

    def __reduce__(self):
      elements, *view = self._tensor
      rebuild = modules['torch._utils']._rebuild_tensor_v2
      return rebuild, (
        FakeStorage(elements),
        *view,
        False,
        collections.OrderedDict(),
      )

  for name in _STORAGES.values():
    setattr(modules['torch'], name, type(name, (), {'__module__': 'torch'}))

  def rebuild():
    raise NotImplementedError

  rebuild.__module__ = 'torch._utils'
  rebuild.__name__ = rebuild.__qualname__ = '_rebuild_tensor_v2'
  modules['torch._utils']._rebuild_tensor_v2 = rebuild
  if isinstance(content, Mapping):
    content = collections.OrderedDict(
      (name, FakeTensor(each) if isinstance(each, Tensor) else each)
      for name, each in content.items()
    )
  with mock.patch.dict(sys.modules, modules):
    Pickler(file, protocol=2).dump(content)
  pickle.dump(list(storages), file, protocol=2)
  for elements in storages.values():
    file.write(len(elements).to_bytes(8, 'little'))
    file.write(elements.tobytes())
  path.write_bytes(file.getvalue())
