# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The identity of a tree of parts, beside the values of its settings.

A digest of a user's function or class has its name and source, and for a
function its defaults and closure. Of the library and installed packages the
name is enough.
"""

from collections.abc import Iterator, Mapping, Set
import dataclasses
import enum
import functools
import hashlib
import inspect
import pathlib
import types
from typing import Any
import uuid

import numpy as np

from tff_semifl.settings import fields
from tff_semifl.settings import references

# Metadata of a field whose value follows from other fields.
TOLD_ELSEWHERE: Mapping[str, bool] = types.MappingProxyType(
  {'tff_semifl.told_elsewhere': True}
)
_PLAIN = (bool, int, float, str, type(None))
_KNOWN_BY_REPR = (
  *_PLAIN,
  *(bytes, complex, range, slice),
  *(pathlib.PurePath, np.dtype, np.ufunc),
)
_PROCESS = uuid.uuid4().hex[:8]


def identify(part: fields.Settings) -> dict[str, Any]:
  """The classes of a tree, and its fields that are no settings, for JSON.

  Two trees with equal identities and settings compute the same.

  Returns:
    'class' with the qualified name, 'code' with a digest if the class is a
    user's own, and fields by name: parts in the same form, numbers and texts
    unchanged, other values as type or name and digest.
  """
  return _identify(part, '')


def _identify(value: Any, path: str) -> Any:
  if isinstance(value, _PLAIN):
    return value
  kind = type(value)
  try:
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
      return {
        'name': references.qualified_name(value),
        'digest': digest(value),
      }
    found = {'class': references.qualified_name(kind)}
    if not references.is_of_library(kind):
      found['code'] = digest(kind)
  except ValueError as error:
    where = f'field {path} ' if path else ''
    name = references.qualified_name(value)
    raise ValueError(f'{where}({name}) {error}') from error
  metadata = {
    field.name: field.metadata.get(fields.KEY)
    for field in dataclasses.fields(value)
  }
  for name, each in _fields(value):
    setting = metadata[name]
    if isinstance(setting, fields.Setting):
      load, names = setting.values.load, setting.values.names
      if load is None or each is None or each in names:
        continue
      # The code behind a name may change.
      each = load(each)
    found[name] = _identify(each, f'{path}.{name}' if path else name)
  return found


def digest(value: Any) -> str:
  """16 hexadecimal digits that differ where results may.

  A function or class without source has other digits in every process, so that
  no run is resumed with it.

  Raises:
    ValueError: The value is of an unknown kind.
  """
  found = repr(_describe(value, frozenset()))
  return hashlib.sha256(found.encode()).hexdigest()[:16]


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
  """Yields names and values of the fields of a dataclass that matter."""
  for field in dataclasses.fields(value):
    if not field.metadata.keys() & TOLD_ELSEWHERE.keys():
      yield field.name, getattr(value, field.name)


def _describe(
  value: Any, outer: frozenset[int], *, is_strict: bool = True
) -> Any:
  """A value as nested lists of texts; `outer` are values that it is in.

  The type stands for an unknown object, unless `is_strict`.
  """
  kind = references.qualified_name(type(value))
  if isinstance(value, enum.Enum):
    return [kind, value.name]
  if isinstance(value, _KNOWN_BY_REPR):
    return [kind, repr(value)]
  if isinstance(value, types.BuiltinFunctionType | types.ModuleType):
    return value.__name__
  if id(value) in outer:
    # A function may refer to itself.
    return references.qualified_name(value)
  if isinstance(value, type):
    return [*map(_name_and_source, value.__mro__)]
  if isinstance(value, Set):
    return [kind, *sorted(repr(_describe(each, outer)) for each in value)]
  parts = _take_apart(value)
  if parts is None and not is_strict:
    return kind
  if parts is None:
    raise ValueError(
      f'has a {kind}, which cannot be compared with that of another run; have'
      ' numbers, texts, arrays, dataclasses, functions or parts instead'
    )
  if isinstance(value, types.FunctionType):
    kind = _name_and_source(value)
    # Objects that an imported module makes follow from its name.
    is_strict = is_strict and not references.is_of_library(value)
  else:
    kind = _describe(type(value), outer)
  outer |= {id(value)}
  return [
    kind,
    *(_describe(each, outer, is_strict=is_strict) for each in parts),
  ]


def _take_apart(value: Any) -> list[Any] | None:
  """What a value consists of, or None for unknown objects."""
  if isinstance(value, types.FunctionType):
    cells = inspect.getclosurevars(value).nonlocals
    return [value.__defaults__, value.__kwdefaults__, cells]
  if isinstance(value, Mapping):
    return [list(item) for item in sorted(value.items(), key=repr)]
  if isinstance(value, list | tuple):
    return list(value)
  if isinstance(value, functools.partial):
    return [value.func, value.args, value.keywords]
  if isinstance(value, types.MethodType):
    return [value.__self__, value.__func__]
  if dataclasses.is_dataclass(value):
    return [list(item) for item in _fields(value)]
  if hasattr(value, '__array__'):
    array = np.asarray(value)
    if array.dtype != object:
      content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
      return [array.dtype.str, array.shape, content]
  # A `tf.function` or a cached function.
  for name in ('python_function', '__wrapped__'):
    if hasattr(value, name):
      return [getattr(value, name)]
  return None


def _name_and_source(named: Any) -> list[str]:
  """A function's or class's name, and a digest of a user's source."""
  name = references.qualified_name(named)
  if references.is_of_library(named):
    return [name]
  try:
    source = inspect.getsource(named)
  except (OSError, TypeError):
    return [name, f'without source, {_PROCESS} {id(named)}']
  return [name, hashlib.sha256(source.encode()).hexdigest()]
