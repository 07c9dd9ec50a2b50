# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Names of classes and clients, normalized."""

from collections.abc import Sequence
import unicodedata


def normalize(name: str) -> str:
  """A name in Unicode's composed form (NFC).

  An accented letter may be one character or, as in archives from a Mac, a
  letter and its accent.
  """
  return unicodedata.normalize('NFC', name)


class ClassError(ValueError):
  """An error of classes, which the code that raises it knows by number."""

  def __init__(self, message: str, *classes: int):
    """Initializes the error."""
    super().__init__(message.format(', '.join(map(str, classes))))
    self._message = message
    self._classes = classes

  def with_names(self, class_names: Sequence[str]) -> str:
    """The message with names in place of numbers."""
    return self._message.format(
      ', '.join(class_names[number] for number in self._classes)
    )
