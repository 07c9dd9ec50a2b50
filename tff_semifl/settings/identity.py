# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Identifies the code of a tree of parts, without the values of settings.

A qualified name identifies library code. A user's own classes and functions may
change from run to run, so a digest of their source is added.
"""

from collections.abc import Iterator, Mapping, Set
import contextlib
import dataclasses
import enum
import functools
import hashlib
import inspect
import pathlib
import secrets
import textwrap
import types
from typing import Any

import numpy as np

from tff_semifl.settings import fields
from tff_semifl.settings import references

# The metadata of a field whose value follows from other fields.
TOLD_ELSEWHERE: Mapping[str, bool] = types.MappingProxyType(
  {'tff_semifl.told_elsewhere': True}
)
_PLAIN = (bool, int, float, str, type(None))
# The file name of functions that `dataclasses` generates.
_GENERATED = '<string>'
_KNOWN_BY_REPR = (
  *_PLAIN,
  complex,
  bytes,
  range,
  slice,
  pathlib.PurePath,
  np.dtype,
  np.ufunc,
)


def identify(part: Any) -> dict[str, Any]:
  """Identifies a tree by its classes, and its fields that are not settings.

  Two trees with equal identities and settings compute the same results, unless
  other code that they use has changed.

  Returns:
    For JSON: 'class', the qualified name; 'code', a digest, if the class is a
    user's own; and fields by name. A part in a field has the same form; numbers
    and texts are unchanged; functions and other values become 'name' and
    'digest', also if `part` itself is such a value.
  """
  return _identify(part, '')


def _identify(value: Any, path: str) -> Any:
  if isinstance(value, _PLAIN):
    return value
  kind = type(value)
  try:
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
      return {'name': references.qualified_name(value), 'digest': digest(value)}
    found = {'class': references.qualified_name(kind)}
    if not references.is_of_library(kind):
      found['code'] = digest(kind)
  except ValueError as error:
    where = f'field {path} ' if path else ''
    name = references.qualified_name(value)
    raise ValueError(f'{where}({name}) {error}') from error
  for field, each in _told_fields(value):
    name, setting = field.name, field.metadata.get(fields.KEY)
    if isinstance(setting, fields.Setting):
      load, names = setting.values.load, setting.values.names
      if load is None or each is None or each in names:
        continue
      # The code of a loaded object may change under the same name.
      each = load(each)
    found[name] = _identify(each, f'{path}.{name}' if path else name)
  return found


def digest(value: Any) -> str:
  """A digest of a value, as 16 hexadecimal digits.

  Values are numbers, texts, arrays, dataclasses, classes, functions, or
  collections, partial functions and methods of values. Users' code is digested
  by its source. Other values raise a `ValueError`.
  """
  return hashlib.sha256(repr(_take_apart(value)).encode()).hexdigest()[:16]


def _told_fields(value: Any) -> Iterator[tuple[dataclasses.Field, Any]]:
  """Yields a dataclass's fields and their values, except derived fields."""
  for field in dataclasses.fields(value):
    if not field.metadata.keys() & TOLD_ELSEWHERE.keys():
      yield field, getattr(value, field.name)


def _take_apart(
  value: Any, is_strict: bool = True, outer: tuple[types.FunctionType, ...] = ()
) -> Any:
  """Describes a value by nested lists of texts.

  Unless `is_strict`, objects that cannot be compared are described by their
  type. `outer` has the functions whose closures contain the value.
  """

  def read(part: Any) -> Any:
    return _take_apart(part, is_strict, outer)

  if isinstance(value, enum.Enum):
    return [references.qualified_name(type(value)), value.name]
  if isinstance(value, _KNOWN_BY_REPR):
    return [type(value).__name__, repr(value)]
  if isinstance(value, type):
    bases = [
      _take_apart(each) for each in value.__bases__ if each is not object
    ]
    return [_describe_code(value), *bases]
  if isinstance(value, types.FunctionType):
    if value in outer:
      return references.qualified_name(value)
    outer += (value,)
    values = [value.__defaults__, value.__kwdefaults__]
    for cell in value.__closure__ or ():
      # A cell is empty until the enclosing function assigns the variable.
      with contextlib.suppress(ValueError):
        values.append(cell.cell_contents)
    is_strict = is_strict and not references.is_of_library(value)
    return [_describe_code(value), *map(read, values)]
  if isinstance(value, types.BuiltinFunctionType):
    return references.qualified_name(value)
  if isinstance(value, Set):
    return ['set', *sorted(repr(read(each)) for each in value)]
  parts = None
  if isinstance(value, Mapping):
    parts = sorted(value.items(), key=repr)
  elif isinstance(value, list | tuple):
    parts = value
  elif isinstance(value, functools.partial):
    parts = [value.func, value.args, value.keywords]
  elif isinstance(value, types.MethodType):
    parts = [value.__self__, value.__func__]
  elif dataclasses.is_dataclass(value):
    parts = [(field.name, each) for field, each in _told_fields(value)]
  elif hasattr(value, 'python_function'):
    # A `tf.function`.
    parts = [value.python_function]
  elif hasattr(value, '__wrapped__'):
    parts = [value.__wrapped__]
  elif hasattr(value, '__array__'):
    array = np.asarray(value)
    if array.dtype != object:
      content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
      parts = [array.dtype.str, array.shape, content]
  if parts is None and is_strict:
    raise ValueError(
      f'has a {references.qualified_name(type(value))}, which cannot be'
      ' compared with that of another run; have numbers, texts, arrays,'
      ' dataclasses, functions or parts instead'
    )
  return [read(type(value)), *map(read, parts or ())]


def _describe_code(named: Any) -> list[str]:
  """The name of a class or function, and its source if it is a user's own."""
  name = references.qualified_name(named)
  if references.is_of_library(named):
    return [name]
  return [name, _find_source(named)]


@functools.cache
def _find_source(named: Any) -> str:
  try:
    return textwrap.dedent(inspect.getsource(named))
  except (OSError, TypeError):
    if not isinstance(named, type):
      # A random text differs in each run, so that such runs do not resume.
      return secrets.token_hex()
  # A class in a notebook has no source, but its functions have.
  found = []
  for name, value in sorted(vars(named).items()):
    function = getattr(value, '__func__', getattr(value, 'fget', value))
    if isinstance(function, types.FunctionType):
      if function.__code__.co_filename != _GENERATED:
        found.append([name, _find_source(function)])
    elif isinstance(value, _PLAIN):
      found.append([name, repr(value)])
  return repr(found)
