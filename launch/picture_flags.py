# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The formats of pictures, in flags that name their files."""

from collections.abc import Sequence
import pathlib

from absl import flags

from tff_semifl.launch import output_flag
from tff_semifl.launch import program
from tff_semifl.programs import picture_files

*_FIRST, _LAST = picture_files.FORMATS
_WRONG_FORMAT = f'must each end in {", ".join(_FIRST)} or {_LAST}'


def require_formats(flag: flags.FlagHolder[list[str] | None]) -> None:
  """Restricts a flag to names of files in the supported formats.

  Args:
    flag: A flag whose value is a list of files, or None for no picture.
  """
  flags.register_validator(
    flag.name,
    lambda files: files is None or _have_formats(files),
    message=_WRONG_FORMAT,
  )


def output_files(default: str) -> list[str]:
  """Returns the files of a picture that --output_file names.

  Args:
    default: The only one if the flag is not given.

  Raises:
    program.FlagError: If it names no file, or one in another format.
  """
  flag = output_flag.OUTPUT_FILE
  files = [default] if flag.value is None else flag.value
  with program.blame(flag, ValueError):
    if not _have_formats(files):
      raise ValueError(_WRONG_FORMAT)
  return files


def _have_formats(files: Sequence[str]) -> bool:
  return bool(files) and {pathlib.Path(file).suffix for file in files} <= set(
    picture_files.FORMATS
  )
