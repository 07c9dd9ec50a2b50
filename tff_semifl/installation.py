# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The place of the packages `tasks` and `launch`.

In a clone they are beside the package `tff_semifl`. An installed package has
them inside, so that they hide nobody's own `tasks` or `launch`.
"""

import importlib.util


def is_installed() -> bool:
  """Whether this package is installed, and not in a clone."""
  return importlib.util.find_spec('tff_semifl.launch') is not None


def find(package: str) -> str:
  """The name that `tasks` or `launch` is imported by."""
  return f'tff_semifl.{package}' if is_installed() else package
