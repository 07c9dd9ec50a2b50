# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The error of a setting, and how other errors become one."""

from collections.abc import Iterator
import contextlib
from typing import TypeVar

_Value = TypeVar('_Value')


class SettingError(ValueError):
  """A setting has a value that it cannot have.

  Attributes:
    name: The setting.
    value: What it was to be.
    problem: Why it cannot be that, and what would be right.
  """

  def __init__(self, name: str, value: object, problem: str):
    super().__init__(f'{name}={show(value)}: {problem}')
    self.name = name
    self.value = value
    self.problem = problem


def filled(name: str, value: _Value | None) -> _Value:
  """Returns the value of a setting that an experiment fills in.

  Args:
    name: The setting.
    value: Its value.

  Raises:
    SettingError: If it is None, and so was not filled in.
  """
  if value is None:
    raise SettingError(
      name, None, 'must be given; experiments alone fill in settings'
    )
  return value


def show(value: object) -> str:
  """Returns a value as it is written on a command line."""
  if isinstance(value, tuple | list):
    return ','.join(map(str, value))
  return str(value)


@contextlib.contextmanager
def blame(name: str, value: object, *errors: type[Exception]) -> Iterator[None]:
  """Turns errors in the `with` block into errors of a setting.

  Args:
    name: The setting.
    value: Its value.
    *errors: Types of errors, by default `ValueError`.

  Raises:
    SettingError: If one of these was raised; a `SettingError` stays as it is.
  """
  try:
    yield
  except SettingError:
    raise
  except errors or (ValueError,) as error:  # noqa: B030
    raise SettingError(name, value, str(error)) from error
