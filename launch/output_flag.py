# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --output_file, which says where a program writes its result."""

import contextlib
import pathlib

from absl import flags

from tff_semifl.launch import program

OUTPUT_FILE = flags.DEFINE_list(
  'output_file',
  None,
  'File to write. A program that draws with Matplotlib takes several, with'
  ' commas; the suffix of each chooses PNG, PDF or SVG.',
)


def one(default: str | None) -> pathlib.Path | None:
  """Returns the file to write.

  Args:
    default: The file if the flag is not given, or None to write none then.

  Raises:
    program.FlagError: If the flag does not name one file.
  """
  files = OUTPUT_FILE.value
  if files is None:
    return None if default is None else pathlib.Path(default)
  with program.blame(OUTPUT_FILE, ValueError):
    if len(files) != 1:
      raise ValueError('name one file')
  return pathlib.Path(files[0])


def writing(
  *files: str | pathlib.Path,
) -> contextlib.AbstractContextManager[None]:
  """Turns file errors in the `with` block into errors of the flag.

  Args:
    *files: The files that are written.
  """
  return program.blame(OUTPUT_FILE, OSError, value=files)
