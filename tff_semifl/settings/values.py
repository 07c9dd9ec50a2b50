# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Ranges of settings' values, and the error for an invalid value."""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import difflib
import math
import pathlib
from typing import Any, NamedTuple, TypeVar

_Value = TypeVar('_Value')


class Values(NamedTuple):
  """The values that a setting takes.

  Attributes:
    description: The values in words, after "must be".
    contains: Whether a value, which has the right type, is allowed.
    names: The allowed names, if values are names.
    load: Loads 'package.module:NAME', or raises a ValueError; None if only
      `names` are allowed.
  """

  description: str
  contains: Callable[[Any], bool]
  names: tuple[str, ...] = ()
  load: Callable[[str], Any] | None = None


def _show(number: float) -> str:
  return str(number) if isinstance(number, int) else f'{number:g}'


def at_least(least: float) -> Values:
  """The finite numbers from `least` up."""
  return Values(f'at least {least}', lambda value: least <= value < math.inf)


def between(least: float, most: float) -> Values:
  """The numbers from `least` to `most`, inclusive."""
  return Values(
    f'from {_show(least)} to {_show(most)}',
    lambda value: least <= value <= most,
  )


def one_of(*names: str) -> Values:
  """The given names."""
  return Values(f'one of {", ".join(names)}', names.__contains__, names)


def one_of_or_outside(
  names: Iterable[str], load: Callable[[str], Any]
) -> Values:
  """The given names, and any 'package.module:NAME' that `load` accepts."""
  names = tuple(names)
  return Values(
    f'one of {", ".join(names)}, or package.module:NAME',
    lambda value: value in names or ':' in value,
    names,
    load,
  )


def _is_folder_name(value: str) -> bool:
  return value not in ('', '..') and pathlib.PurePath(value).name == value


FOLDER_NAME = Values('the name of a folder, without /', _is_folder_name)
# Settings of type float must be finite in any case.
ANY = Values('anything', lambda value: True)
ABOVE_0 = Values('above 0', lambda value: 0 < value < math.inf)
AT_LEAST_0 = at_least(0)
AT_LEAST_1 = at_least(1)
BELOW_1 = Values('in [0, 1)', lambda value: 0 <= value < 1)
INSIDE_0_TO_1 = Values('in (0, 1)', lambda value: 0 < value < 1)
FRACTION = Values('in [0, 1]', lambda value: 0 <= value <= 1)
SHARE = Values('in (0, 1]', lambda value: 0 < value <= 1)


class SettingError(ValueError):
  """A setting has an invalid value.

  Attributes:
    value: The value; None if no value was given.
    problem: Why the value is invalid, and which values are valid.
  """

  def __init__(self, name: str, value: object, problem: str):
    # The user has not written `name=None` for a missing value.
    shown = name if value is None else f'{name}={show(value)}'
    super().__init__(f'{shown}: {problem}')
    self.name = name
    self.value = value
    self.problem = problem


def filled(name: str, value: _Value | None) -> _Value:
  """Returns the value of a setting; raises a `SettingError` if it is None."""
  if value is None:
    raise SettingError(
      name, None, 'must be given; only experiments fill in settings'
    )
  return value


def show(value: object) -> str:
  """Formats a value as on a command line."""
  if isinstance(value, tuple | list):
    return ','.join(map(str, value))
  return str(value)


def did_you_mean(name: object, names: Iterable[str]) -> str:
  """'did you mean NAME? ' with the closest name; '' if no name is similar."""
  if not isinstance(name, str):
    return ''
  similar = difflib.get_close_matches(name, names, n=1)
  return f'did you mean {similar[0]}? ' if similar else ''


@contextlib.contextmanager
def blame(name: str, value: object, *errors: type[Exception]) -> Iterator[None]:
  """Converts errors in the `with` block to a `SettingError` of `name`.

  `errors` are the types to convert, by default `ValueError`.
  """
  try:
    yield
  except SettingError:
    raise
  except errors or (ValueError,) as error:  # noqa: B030
    problem = str(error)
    if isinstance(error, OSError) and error.filename:
      named = '' if error.filename == str(value) else f'{error.filename}: '
      problem = f'{named}{error.strerror}'
    raise SettingError(name, value, problem) from error
