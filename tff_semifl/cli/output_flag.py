# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags --output_file, for a program's result, and --overwrite."""

from collections.abc import Sequence
import contextlib
import functools
import pathlib

from absl import flags

from tff_semifl.cli import program
from tff_semifl.files import durable_files

OUTPUT_FILE = flags.DEFINE_list(
  'output_file',
  None,
  'File to write. A program that plots takes several, separated by commas; the'
  ' suffix of each chooses PNG, PDF or SVG. launch.predict takes -, standard'
  ' output.',
)
_WRONG_FORMAT = 'must each end in .png, .pdf or .svg'


def one(default: str | None) -> pathlib.Path | None:
  """The file to write; `default` if the flag is not given."""
  files = OUTPUT_FILE.value
  if files is None:
    return None if default is None else pathlib.Path(default)
  with program.blame(OUTPUT_FILE, ValueError):
    if len(files) != 1:
      raise ValueError('name one file')
    path = pathlib.Path(files[0])
    if not path.name or path.is_dir():
      raise ValueError('is a folder; name a file in it')
  return path


@functools.cache
def define_overwrite() -> flags.FlagHolder[bool]:
  """Defines --overwrite, for programs that write tables of results."""
  return flags.DEFINE_bool(
    'overwrite', False, 'Whether to replace --output_file if it exists.'
  )


def check_new(path: pathlib.Path) -> None:
  """Checks that a file does not exist, or that --overwrite is given."""
  with program.blame(OUTPUT_FILE, ValueError, value=path):
    found = durable_files.describe_special_file(path)
    if found is not None:
      raise ValueError(f'is {found}; name a file')
    if path.exists() and not define_overwrite().value:
      raise ValueError('exists; name another file, or give --overwrite')


def figures(default: str) -> list[str]:
  """The files of a figure; only `default` if the flag is not given."""
  files = [default] if OUTPUT_FILE.value is None else OUTPUT_FILE.value
  with program.blame(OUTPUT_FILE, ValueError):
    if not _are_figures(files):
      raise ValueError(_WRONG_FORMAT)
  return files


def require_figures(flag: flags.FlagHolder[list[str] | None]) -> None:
  """Restricts a flag to files in the formats of figures."""
  flags.register_validator(
    flag.name,
    lambda files: files is None or _are_figures(files),
    message=_WRONG_FORMAT,
  )


def writing(
  *files: str | pathlib.Path,
) -> contextlib.AbstractContextManager[None]:
  """Turns errors of writing `files` in the `with` block into flag errors."""
  return program.blame(
    OUTPUT_FILE, OSError, durable_files.OutputError, value=files
  )


def _are_figures(files: Sequence[str]) -> bool:
  suffixes = {pathlib.Path(file).suffix for file in files}
  return bool(files) and suffixes <= {'.png', '.pdf', '.svg'}
