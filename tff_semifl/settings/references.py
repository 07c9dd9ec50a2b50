# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Names of objects outside of this package: 'package.module:NAME'."""

import importlib
import operator
import os
import sys
from typing import Any

_MAIN = '__main__'


def load(reference: str, expected: type | None = None) -> Any:
  """Returns the object of that name.

  Modules in the working directory are found, too.

  Args:
    reference: 'package.module:NAME'.
    expected: The type that it must have, if not None.

  Raises:
    ValueError: If there is none, or if it is of another type.
  """
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
    found = operator.attrgetter(name)(module)
  except AttributeError as error:
    raise ValueError(f'module {module_name} has no {name}') from error
  if expected is not None and not isinstance(found, expected):
    raise ValueError(
      f'is a {type(found).__name__}; must be a {expected.__name__}'
    )
  return found


def qualified_name(named: Any) -> str:
  """Returns the 'package.module:NAME' of a class or a function.

  What a module has that was started as a program, `python -m my.module`, is
  called as if it was imported: by `my.module`, not by `__main__`.

  Args:
    named: The class or function; for others, their class is named.
  """
  if not hasattr(named, '__qualname__'):
    named = type(named)
  return f'{_find_module(named)}:{named.__qualname__}'


def can_be_imported(named: Any) -> bool:
  """Returns whether other programs find a class or function by its name."""
  module_name, _, name = qualified_name(named).partition(':')
  if module_name == _MAIN:
    return False
  try:
    # A module that was started as a program is not imported, too.
    found = operator.attrgetter(name)(sys.modules[named.__module__])
  except (AttributeError, KeyError):
    return False
  return found is named


def _find_module(named: Any) -> str:
  # Some functions of C have none.
  name = named.__module__ or 'builtins'
  if name != _MAIN:
    return name
  spec = getattr(sys.modules.get(_MAIN), '__spec__', None)
  return name if spec is None else spec.name
