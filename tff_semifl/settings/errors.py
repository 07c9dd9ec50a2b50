# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The error of a setting, and conversion of other errors."""

from collections.abc import Iterable, Iterator
import contextlib
import difflib
from typing import TypeVar

_Value = TypeVar('_Value')


class SettingError(ValueError):
  """A setting has an invalid value.

  Attributes:
    value: The value; None if none was given.
    problem: Why it is invalid, and what would be right.
  """

  def __init__(self, name: str, value: object, problem: str):
    # A missing value was not written by anybody.
    shown = name if value is None else f'{name}={show(value)}'
    super().__init__(f'{shown}: {problem}')
    self.name = name
    self.value = value
    self.problem = problem


def filled(name: str, value: _Value | None) -> _Value:
  """Returns the value of a setting, unless it is None."""
  if value is None:
    raise SettingError(
      name, None, 'must be given; only experiments fill in settings'
    )
  return value


def show(value: object) -> str:
  """A value as written on a command line."""
  if isinstance(value, tuple | list):
    return ','.join(map(str, value))
  return str(value)


def did_you_mean(name: object, names: Iterable[str]) -> str:
  """'did you mean ...? ' with the most similar of `names`, or ''."""
  if not isinstance(name, str):
    return ''
  similar = difflib.get_close_matches(name, names, n=1)
  return f'did you mean {similar[0]}? ' if similar else ''


@contextlib.contextmanager
def blame(name: str, value: object, *errors: type[Exception]) -> Iterator[None]:
  """Turns errors in the `with` block into errors of a setting.

  The default of `errors` is `ValueError`.
  """
  try:
    yield
  except SettingError:
    raise
  except errors or (ValueError,) as error:  # noqa: B030
    raise SettingError(name, value, str(error)) from error
