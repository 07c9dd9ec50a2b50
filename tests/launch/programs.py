# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs programs in the process of a test."""

from collections.abc import Callable
import contextlib
import functools
import io
from typing import Any

from tff_semifl import settings
from tff_semifl.cli import command_line


def run(
  main: Callable[[Any], None],
  create: command_line.Create | settings.Settings,
  **values: object,
) -> list[str]:
  """Runs a program with flags; returns the lines that it prints."""
  if isinstance(create, settings.Settings):
    create = functools.partial(settings.change, create)
  chosen, _ = command_line.parse(
    create,
    [
      f'--{name}={settings.show(value)}'
      for name, value in values.items()
      if value is not None
    ],
    'program',
  )
  output = io.StringIO()
  with contextlib.redirect_stdout(output):
    main(chosen)
  return output.getvalue().splitlines()
