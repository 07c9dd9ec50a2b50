# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs programs in the process of a test, or in another process."""

from collections.abc import Callable
import contextlib
import functools
import io
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
from typing import Any
from unittest import mock
import warnings

from tests import forked_programs
from tests import small_digits
from tests.runtime import ray_machines
from tff_semifl import settings
from tff_semifl.cli import command_line


def small_training(folder: os.PathLike | str, *flags: str) -> list[str]:
  """The arguments of a small run in `folder`/small; later flags override."""
  return [
    *('launch.train', 'semifl', *small_digits.FLAGS, '--num_clients=10'),
    *('--clients_per_round=2', '--client_epochs=1', '--server_epochs=1'),
    *('--confidence_threshold=0.2', '--total_rounds=2'),
    *('--experiment_name=small', f'--output_dir={folder}', *flags),
  ]


class Program:
  """A program in its own process, and its output."""

  def __init__(self, *arguments: str):
    self._log = tempfile.NamedTemporaryFile('r')
    with open(self._log.name, 'wb') as log:
      self.process = forked_programs.start(
        *arguments, stdout=log, stderr=log, variables=ray_machines.variables()
      )

  @property
  def output(self) -> str:
    """The output of the program at present."""
    return pathlib.Path(self._log.name).read_text()


def run_module(
  module: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
  """Runs a program in this process, except the actions at its end."""
  output, errors = io.StringIO(), io.StringIO()
  code = 0
  with (
    mock.patch.object(sys, 'argv', [module, *arguments]),
    contextlib.redirect_stdout(output),
    contextlib.redirect_stderr(errors),
    warnings.catch_warnings(),
  ):
    # Tests have imported the module already.
    warnings.simplefilter('ignore', RuntimeWarning)
    try:
      runpy.run_module(module, run_name='__main__', alter_sys=True)
    except SystemExit as end:
      code = end.code or 0
  return subprocess.CompletedProcess(
    [module, *arguments], code, output.getvalue(), errors.getvalue()
  )


def run(
  main: Callable[[Any], None],
  create: command_line.Create | settings.Settings,
  **values: object,
) -> list[str]:
  """Runs a program with flags; returns the printed lines."""
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
