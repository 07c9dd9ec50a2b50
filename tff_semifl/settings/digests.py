# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Digests of values and of code, which change where results may.

Of library code the qualified name is enough. A user's own code may change from
run to run, so that its digest has the instructions and the global values,
functions and classes that these use, without comments, docstrings and names of
variables.
"""

from collections.abc import Iterator, Mapping, Set
import dataclasses
import enum
import functools
import hashlib
import logging
import pathlib
import types
from typing import Any

import numpy as np

from tff_semifl.settings import instructions
from tff_semifl.settings import references

# Metadata of a field whose value follows from other fields.
TOLD_ELSEWHERE: Mapping[str, bool] = types.MappingProxyType(
  {'tff_semifl.told_elsewhere': True}
)
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
_KNOWN_BY_REPR = (pathlib.PurePath, np.dtype, np.ufunc, slice, logging.Logger)
_GENERATED = {
  '__init__',
  '__repr__',
  '__eq__',
  '__hash__',
  '__setattr__',
  '__delattr__',
}
_IRRELEVANT = {
  '__abstractmethods__',
  '__annotations__',
  '__dataclass_fields__',
  '__dataclass_params__',
  '__dict__',
  '__doc__',
  '__match_args__',
  '__module__',
  '__orig_bases__',
  '__parameters__',
  '__qualname__',
  '__weakref__',
  '_abc_impl',
}


def digest(value: Any) -> str:
  """16 hexadecimal digits that differ where results may."""
  found = _Reader().read(value, is_strict=True)
  return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def told_fields(value: Any) -> Iterator[tuple[str, Any]]:
  """Yields names and values of the fields of a dataclass that matter."""
  for field in dataclasses.fields(value):
    if not field.metadata.keys() & TOLD_ELSEWHERE.keys():
      yield field.name, getattr(value, field.name)


class _Reader:
  """Turns values into texts and lists of texts.

  For an unknown object, strict reading raises an error; otherwise its type
  stands for it, since a module made it and it follows from the module's name.
  """

  def __init__(self):
    self._read: dict[int, Any] = {}

  def read(self, value: Any, is_strict: bool) -> Any:
    """A description of a value; raises a ValueError for unknown ones."""
    if isinstance(value, enum.Enum):
      return [references.qualified_name(type(value)), value.name]
    if isinstance(value, _PLAIN):
      return [type(value).__name__, repr(value)]
    if isinstance(value, types.ModuleType):
      return value.__name__
    if isinstance(value, type | types.FunctionType):
      return self._read_once(value)
    parts = _take_apart(value)
    if parts is not None:
      kind = self.read(type(value), is_strict)
      return [kind, *(self.read(each, is_strict) for each in parts)]
    if isinstance(value, Set):
      return ['set', *sorted(repr(self.read(v, is_strict)) for v in value)]
    if isinstance(value, types.BuiltinFunctionType | types.CodeType):
      return references.qualified_name(value)
    if is_strict and not hasattr(value, '__get__'):
      raise ValueError(
        f'has a {references.qualified_name(type(value))}, which cannot be'
        ' compared with that of another run; have numbers, texts, arrays,'
        ' dataclasses, functions or parts instead'
      )
    return references.qualified_name(type(value))

  def _read_once(self, named: Any) -> Any:
    """A description of a class or function, which may refer to itself."""
    if id(named) not in self._read:
      self._read[id(named)] = named.__qualname__
      is_class = isinstance(named, type)
      read = self._read_class if is_class else self._read_function
      self._read[id(named)] = read(named)
    return self._read[id(named)]

  def _read_class(self, kind: type) -> Any:
    name = references.qualified_name(kind)
    if references.is_of_library(kind):
      return name
    without = set(_IRRELEVANT)
    if '__dataclass_fields__' in vars(kind):
      without |= _GENERATED
    if dataclasses.is_dataclass(kind):
      # Instances have the values of fields.
      without |= {field.name for field in dataclasses.fields(kind)}
    is_strict = not _is_of_module(kind)
    return [
      kind.__qualname__,
      [self.read(base, is_strict) for base in kind.__bases__],
      [
        [key, self.read(value, is_strict)]
        for key, value in sorted(vars(kind).items())
        if key not in without
      ],
    ]

  def _read_function(self, function: types.FunctionType) -> Any:
    name = references.qualified_name(function)
    is_strict = not _is_of_module(function)
    if references.is_of_library(function):
      if not is_strict:
        return name
      return [name, self._read_bound(function, is_strict=False)]
    codes = list(instructions.find_codes(function.__code__))
    in_program = references.is_of_program(function)
    return [
      function.__qualname__,
      [
        self.read(found, is_strict=False)
        for code in codes
        for found in instructions.read(code)
      ],
      self._read_bound(function, is_strict),
      [
        # Values of an imported module are the same in the next run.
        [name, self.read(value, in_program and '.' not in name)]
        for name, value in instructions.find_globals(function, codes)
      ],
    ]

  def _read_bound(self, function: types.FunctionType, is_strict: bool) -> Any:
    """The defaults and the closure of a function."""
    values: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
      try:
        values.append(cell.cell_contents)
      except ValueError:
        values.append('empty')
    return [self.read(value, is_strict) for value in values]


def _take_apart(value: Any) -> list[Any] | None:
  """What a value consists of, or None for unknown objects."""
  if isinstance(value, Mapping):
    return [list(item) for item in sorted(value.items(), key=repr)]
  if isinstance(value, list | tuple):
    return list(value)
  if isinstance(value, _KNOWN_BY_REPR):
    return [repr(value)]
  if isinstance(value, functools.partial):
    return [value.func, value.args, value.keywords]
  if isinstance(value, types.MethodType):
    return [value.__self__, value.__func__]
  if isinstance(value, property):
    return [value.fget]
  if isinstance(value, functools.cached_property):
    return [value.func]
  if dataclasses.is_dataclass(value):
    return [list(item) for item in told_fields(value)]
  if hasattr(value, '__array__'):
    array = np.asarray(value)
    if array.dtype != object:
      content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
      return [array.dtype.str, array.shape, content]
    return None
  # A method of a class, a cached function, or a `tf.function`.
  names = ['__func__', '__wrapped__']
  if type(value).__module__.startswith('tensorflow.'):
    names.append('python_function')
  for name in names:
    if hasattr(value, name):
      return [getattr(value, name)]
  return None


def _is_of_module(named: Any) -> bool:
  """Whether importing a module alone created an object."""
  return (
    not references.is_of_program(named) and '<locals>' not in named.__qualname__
  )
