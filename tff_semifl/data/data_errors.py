# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors about a user's data; one error can list several problems."""

from collections.abc import Sequence
import pathlib
from typing import NamedTuple

_MAX_NAMED = 5


class DataError(ValueError):
  """An error about a user's data, with a message of one line.

  `setting` names the setting at fault, such as 'image_size'; None stands for
  the setting that names the data.
  """

  def __init__(self, message: str, setting: str | None = None):
    super().__init__(message)
    self.setting = setting


class ClassError(ValueError):
  """An error with class numbers, which `with_names` replaces by class names."""

  def __init__(self, message: str, *classes: int):
    super().__init__(message.format(', '.join(map(str, classes))))
    self._message = message
    self._classes = classes

  def with_names(self, class_names: Sequence[str]) -> str:
    """The message with class names in place of class numbers."""
    return self._message.format(
      ', '.join(class_names[number] for number in self._classes)
    )


class Problem(NamedTuple):
  """A file or folder that cannot be used, and the reason."""

  path: pathlib.Path
  reason: str


def raise_if_any(root: pathlib.Path, problems: Sequence[Problem]) -> None:
  """Raises a `DataError` that lists the problems in a folder, if any."""
  if not problems:
    return
  named = '; '.join(
    f'{problem.path.relative_to(root)} {problem.reason}'
    for problem in problems[:_MAX_NAMED]
  )
  num_more = len(problems) - _MAX_NAMED
  more = f'; and {num_more} more' if num_more > 0 else ''
  # Names may contain line breaks.
  raise DataError(' '.join(f'in {root}: {named}{more}'.split('\n')))
