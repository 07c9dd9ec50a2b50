# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The check that is shared by flags that name files of pictures."""

import pathlib

from absl import flags

from tff_semifl.programs import picture_files


def require_formats(flag: flags.FlagHolder[list[str] | None]) -> None:
  """Restricts a flag to names of files in the supported formats.

  Args:
    flag: A flag whose value is a list of files, or None for no picture.
  """
  *formats, last = picture_files.FORMATS
  flags.register_validator(
    flag.name,
    lambda files: files is None
    or files
    and {pathlib.Path(file).suffix for file in files}
    <= set(picture_files.FORMATS),
    message=f'must each end in {", ".join(formats)} or {last}',
  )
