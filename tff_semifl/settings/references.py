# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Names of objects outside of this package: 'package.module:NAME'."""

import importlib
import os
import sys
from typing import Any


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
  folder = os.getcwd()
  if folder not in sys.path:
    sys.path.append(folder)
  try:
    module = importlib.import_module(module_name)
  except ImportError as error:
    raise ValueError(f'cannot be imported: {error}') from error
  if not hasattr(module, name):
    raise ValueError(f'module {module_name} has no {name}')
  found = getattr(module, name)
  if expected is not None and not isinstance(found, expected):
    raise ValueError(
      f'is a {type(found).__name__}; must be a {expected.__name__}'
    )
  return found
