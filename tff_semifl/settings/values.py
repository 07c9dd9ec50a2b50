# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Ranges of values of settings."""

from collections.abc import Callable, Iterable
import math
import pathlib
from typing import Any, NamedTuple


class Values(NamedTuple):
  """The values that a setting takes.

  Attributes:
    description: The values in words, after "must be".
    contains: Value of the right type -> whether it is allowed.
    names: The allowed names, if values are names.
    load: Loads 'package.module:NAME', or raises a ValueError; None if `names`
      are all.
  """

  description: str
  contains: Callable[[Any], bool]
  names: tuple[str, ...] = ()
  load: Callable[[str], Any] | None = None


def _show(number: float) -> str:
  return str(number) if isinstance(number, int) else f'{number:g}'


def at_least(least: float) -> Values:
  """The numbers from `least` on."""
  return Values(f'at least {least}', lambda value: least <= value < math.inf)


def between(least: float, most: float) -> Values:
  """The numbers from `least` to `most`, inclusive."""
  return Values(
    f'from {_show(least)} to {_show(most)}',
    lambda value: least <= value <= most,
  )


def one_of(*names: str) -> Values:
  """The check that a value is one of `names`."""
  return Values(f'one of {", ".join(names)}', names.__contains__, names)


def one_of_or_outside(
  names: Iterable[str], load: Callable[[str], Any]
) -> Values:
  """One of some names, or 'package.module:NAME'."""
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
