# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Where the packages `tasks` and `launch` are.

In a clone they lie beside the package `tff_semifl`; an installed package has
them inside, so that nobody's own `tasks` or `launch` is hidden. In either case
each of their modules has one name.
"""

import importlib.util


def is_installed() -> bool:
  """Whether this package was installed, and does not lie in a clone."""
  return importlib.util.find_spec('tff_semifl.launch') is not None


def find(package: str) -> str:
  """The name that `tasks` or `launch` is imported by."""
  return f'tff_semifl.{package}' if is_installed() else package
