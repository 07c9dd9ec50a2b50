# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""References to objects by name: 'package.module:NAME'."""

import collections
from collections.abc import Mapping
import importlib
import importlib.util
import inspect
import operator
import os
import pathlib
import sys
from typing import Any

_MAIN = '__main__'
_INSTALLED = {'site-packages', 'dist-packages'}


def is_installed() -> bool:
  """Whether this package is installed; False in a clone."""
  return importlib.util.find_spec('tff_semifl.launch') is not None


def find_package(name: str) -> str:
  """The name by which the package `tasks` or `launch` is imported.

  In a clone both packages are beside `tff_semifl`. If installed, they are
  inside `tff_semifl`, so that they do not hide a user's `tasks` or `launch`.
  """
  return f'tff_semifl.{name}' if is_installed() else name


class Given(str):
  """The name of an object that a Python program gave, and the object itself.

  `load` returns the object `value`, which may be in a notebook. Two names with
  the same text differ if the objects differ.
  """

  value: Any

  def __eq__(self, other: object) -> bool:
    is_same = getattr(other, 'value', self.value) is self.value
    return super().__eq__(other) and is_same

  def __ne__(self, other: object) -> bool:
    return not self == other

  __hash__ = str.__hash__


def give(value: Any) -> Any:
  """Wraps an object as a `Given`; texts, numbers and None stay unchanged."""
  if value is None or isinstance(value, str | int | float):
    return value
  given = Given(find_variable(value, type(value)) or qualified_name(value))
  given.value = value
  return given


def check_callable(found: Any, *arguments: str) -> None:
  """Raises a `ValueError` if an object cannot be called with the arguments.

  `arguments` are the names of the arguments.
  """
  needed = f'must be a function of {", ".join(arguments)}'
  if not callable(found) or isinstance(found, type):
    raise ValueError(f'is a {type(found).__name__}; {needed}')
  try:
    inspect.signature(found).bind(*arguments)
  except TypeError as error:
    raise ValueError(f'{needed}: {error}') from error
  except ValueError:
    pass  # Some C functions have no signature.


def load(reference: str) -> Any:
  """Loads an object by its reference, also from the working directory.

  Raises a `ValueError` if the object cannot be loaded.
  """
  if isinstance(reference, Given):
    return reference.value
  module_name, _, name = reference.partition(':')
  if not module_name or not name:
    raise ValueError('must be of the form package.module:NAME')
  if module_name == _MAIN or '<' in name:
    raise ValueError(
      'is in a program or notebook, where no other program finds it; put it at'
      ' the top of a module, and name it package.module:NAME'
    )
  folder = os.getcwd()
  if folder not in sys.path:
    sys.path.append(folder)
  try:
    module = importlib.import_module(module_name)
  except ImportError as error:
    raise ValueError(f'cannot be imported: {error}') from error
  try:
    return operator.attrgetter(name)(module)
  except AttributeError as error:
    raise ValueError(f'module {module_name} has no {name}') from error


class Options(collections.UserDict[str, Any]):
  """Options of a choice by name, imported at first use.

  A value is an option, or 'module:NAME' of an option in the package `package`.
  NAME may also be a class of options whose fields all have defaults.
  """

  def __init__(self, package: str, options: Mapping[str, Any]):
    super().__init__(options)
    self._package = package

  def __getitem__(self, key: str) -> Any:
    found = self.data[key]
    if isinstance(found, str):
      module, _, attribute = found.partition(':')
      found = getattr(
        importlib.import_module(f'{self._package}.{module}'), attribute
      )
      self.data[key] = found = found() if isinstance(found, type) else found
    return found


def qualified_name(named: Any) -> str:
  """The 'package.module:NAME' of a class or function.

  For a module started by `python -m my.module`, the module's name is
  `my.module`, not `__main__`.
  """
  if not hasattr(named, '__qualname__'):
    named = type(named)
  return f'{_find_module(named)}:{named.__qualname__}'


def name_within(reference: str) -> str:
  """The NAME in 'package.module:NAME', without functions that enclose it."""
  return reference.partition(':')[2].rpartition('<locals>.')[2]


def find_variable(value: Any, kind: type) -> str | None:
  """Finds a variable by value: its 'package.module:NAME', or None.

  The module of the class `kind` is searched, unless it is `__main__`.
  """
  module = sys.modules.get(kind.__module__)
  if module is None or _find_module(kind) == _MAIN:
    return None
  names = [name for name, each in vars(module).items() if each is value]
  return f'{_find_module(kind)}:{names[0]}' if names else None


def is_of_library(named: Any) -> bool:
  """Whether a class or function comes from an installed or standard module."""
  module_name = named.__module__ or 'builtins'
  top = module_name.partition('.')[0]
  if top == 'tff_semifl' or top in sys.stdlib_module_names:
    return True
  module = sys.modules.get(top)
  # The program itself is a user's own code.
  if module is None or top == _MAIN:
    return False
  paths = [getattr(module, '__file__', None), *getattr(module, '__path__', ())]
  return any(
    _INSTALLED.intersection(pathlib.Path(path).parts) for path in paths if path
  )


def _find_module(named: Any) -> str:
  # Some C functions have no module.
  name = named.__module__ or 'builtins'
  main = sys.modules.get(_MAIN)
  spec = getattr(main, '__spec__', None)
  if name != _MAIN or spec is None:
    return name
  try:
    is_there = operator.attrgetter(named.__qualname__)(main) is named
  except AttributeError:
    is_there = False
  return spec.name if is_there else name
