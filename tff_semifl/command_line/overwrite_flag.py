# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --overwrite of programs that write tables of results."""

import pathlib
from typing import TypeVar

from absl import flags

from tff_semifl.command_line import output_flag
from tff_semifl.command_line import program
from tff_semifl.files import durable_files

_OVERWRITE = flags.DEFINE_bool(
  'overwrite', False, 'Whether to replace --output_file if it exists.'
)

_Path = TypeVar('_Path', pathlib.Path, None)


def check(path: _Path) -> _Path:
  """Returns a file to write, which does not exist or may be replaced."""
  with program.blame(output_flag.OUTPUT_FILE, ValueError, value=path):
    if path is None:
      return path
    found = durable_files.describe_special_file(path)
    if found is not None:
      raise ValueError(f'is {found}; name a file')
    if path.exists() and not _OVERWRITE.value:
      raise ValueError('exists; name another file, or give --overwrite')
  return path
