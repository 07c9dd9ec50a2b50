# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What flags that name files for a picture have in common."""

import pathlib

from absl import flags

from tff_semifl.programs import picture_files


def require_formats(flag: flags.FlagHolder[list[str] | None]) -> None:
  """Lets a flag take no names of files but of formats that there are.

  Args:
    flag: A list, or None if no picture need be drawn.
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
