# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Semi-supervised federated learning on TensorFlow Federated.

    import tff_semifl as sfl

`__init__.pyi` lists the public names; the first use imports a name's module.
"""

import importlib
import os
import pathlib
import re
from typing import Any

__version__ = '1.0.0'

# If TensorFlow is imported while absl's `app.run` is running, it sets this too
# late for itself, and Keras cannot build models.
os.environ.setdefault('TF2_BEHAVIOR', '1')

_FOLDER = pathlib.Path(__file__).parent
_MODULES = {
  name: module
  for module, name in re.findall(
    r'^from (tff_semifl\.\S+) import \(?\s*(\w+) as \2\b',
    (_FOLDER / '__init__.pyi').read_text(),
    re.MULTILINE,
  )
}
__all__ = tuple(_MODULES)


def __getattr__(name: str) -> Any:
  """Imports a public name (PEP 562)."""
  if name not in _MODULES:
    raise AttributeError(f'module {__name__} has no attribute {name!r}')
  value = getattr(importlib.import_module(_MODULES[name]), name)
  globals()[name] = value
  return value


def __dir__() -> list[str]:
  """The module's globals and all public names, imported or not."""
  return sorted({*globals(), *_MODULES})
