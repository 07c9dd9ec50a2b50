# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The fields of parts: settings and choices, with their allowed values."""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import dataclasses
import difflib
import functools
import math
import pathlib
import types
import typing
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from tff_semifl.settings import references

KEY = 'tff_semifl.settings'

_Value = TypeVar('_Value')


class Values(NamedTuple):
  """The values that a setting allows.

  Attributes:
    description: The values in words, after "must be".
    contains: Whether a value of the right type is allowed.
    names: The allowed names, if values are names.
    load: Loads 'package.module:NAME', or raises a ValueError; None if only
      `names` are allowed. Python programs may give the object itself.
  """

  description: str
  contains: Callable[[Any], bool]
  names: tuple[str, ...] = ()
  load: Callable[[str], Any] | None = None


def at_least(least: float) -> Values:
  """Allows the finite numbers from `least` up."""
  return Values(f'at least {least}', lambda value: least <= value < math.inf)


def between(least: float, most: float) -> Values:
  """Allows the numbers from `least` to `most`, inclusive."""
  return Values(f'from {least} to {most}', lambda value: least <= value <= most)


def one_of(*names: str) -> Values:
  """Allows only the given names."""
  return Values(f'one of {", ".join(names)}', names.__contains__, names)


def one_of_or_outside(
  names: Iterable[str], load: Callable[[str], Any]
) -> Values:
  """Allows given names, and any 'package.module:NAME' that `load` accepts."""
  names = tuple(names)
  return Values(
    f'one of {", ".join(names)}, or package.module:NAME',
    lambda value: value in names or ':' in value,
    names,
    load,
  )


FOLDER_NAME = Values(
  'the name of a folder, without /',
  lambda value: value not in ('', '..')
  and pathlib.PurePath(value).name == value,
)
# Settings of type float must always be finite.
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
    # Users do not write `name=None` for a missing value.
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


class Setting(NamedTuple):
  """The metadata of a field made by `setting`."""

  meaning: str
  values: Values


class Choice(NamedTuple):
  """The metadata of a field made by `choice`."""

  meaning: str
  options: Mapping[str, 'Settings | None']
  load: Callable[[str], 'Settings'] | None
  refused: Mapping[str, str]


class Settings:
  """Base of all parts: checks the fields of the derived dataclass.

  A dataclass with its own check calls `super().__post_init__()` first.
  """

  # All derived classes are dataclasses.
  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

  def __new__(cls, *args: Any, **kwargs: Any) -> Self:
    """Creates a part; raises a `ValueError` if `cls` is not a dataclass."""
    del args, kwargs  # For `__init__`.
    if '__dataclass_fields__' not in vars(cls):
      raise ValueError(
        f'{references.qualified_name(cls)} is no dataclass; write'
        ' @dataclasses.dataclass(frozen=True, kw_only=True) above its class'
      )
    return super().__new__(cls)

  def __post_init__(self) -> None:
    for field in dataclasses.fields(self):
      name, value = field.name, getattr(self, field.name)
      if isinstance(value, type) and issubclass(value, Settings):
        raise ValueError(
          f'{type(self).__qualname__}: {name} must be an instance; write'
          f' {name}={value.__qualname__}() in place of {value.__qualname__}'
        )
      kept = field.metadata.get(KEY)
      if isinstance(kept, Setting):
        kind, is_optional = kind_of(type(self), name)
        if value is not None or not is_optional:
          value = _convert(name, value, kind, kept.values)
          object.__setattr__(self, name, value)

  def error(self, name: str, problem: str) -> SettingError:
    """A SettingError about the setting `name`, with its present value."""
    return SettingError(name, getattr(self, name), problem)


def setting(default: Any, meaning: str, values: Values = ANY) -> Any:
  """Declares a field of a part that is a setting.

  None may be the default if the field's type allows None, despite `values`.
  """
  return dataclasses.field(
    default=default, metadata={KEY: Setting(meaning, values)}
  )


def choice(
  options: Mapping[str, Settings | None],
  default: str | None,
  meaning: str,
  *,
  load: Callable[[str], Settings] | None = None,
  refused: Mapping[str, str] = types.MappingProxyType({}),
) -> Any:
  """Declares a field of a part that holds one of several parts by name.

  Args:
    default: The name of the default option; None if a part must be given.
    load: Loads a part of another package from 'package.module:NAME'. Records
      name such parts by class, or by their attribute `reference`. None if only
      `options` can be chosen.
    refused: Maps names that cannot be chosen here to the reason, for errors.
  """
  return dataclasses.field(
    default=dataclasses.MISSING if default is None else options[default],
    metadata={KEY: Choice(meaning, options, load, refused)},
  )


@functools.cache
def kind_of(part: type[Settings], name: str) -> tuple[type, bool]:
  """The type of a field's values, and whether it may be None."""
  hint = typing.get_type_hints(part)[name]
  is_optional = False
  if isinstance(hint, types.UnionType):
    hint, none = typing.get_args(hint)
    assert none is types.NoneType, f'{part.__name__}.{name}: {hint} | {none}'
    is_optional = True
  return typing.get_origin(hint) or hint, is_optional


def _convert(name: str, value: Any, kind: type, values: Values) -> Any:
  if kind is float and type(value) is int:
    value = float(value)
  if kind is tuple and isinstance(value, list | tuple):
    value = tuple(map(references.give, value))
  elif kind is str and values.load is not None:
    value = references.give(value)
  kinds = (str, references.Given) if kind is str else (kind,)
  texts = value if type(value) is tuple else ()
  if type(value) not in kinds or not all(isinstance(t, str) for t in texts):
    found = ', not None' if value is None else ''
    raise SettingError(
      name,
      value,
      f'must be of type {kind.__name__}, {values.description}{found}',
    )
  if kind is float and not math.isfinite(value):
    raise SettingError(
      name, value, f'must be a finite number, {values.description}'
    )
  if not values.contains(value):
    hint = did_you_mean(value, values.names)
    raise SettingError(name, value, f'{hint}must be {values.description}')
  if values.load is not None:
    for each in value if kind is tuple else [value]:
      if each not in values.names:
        with blame(name, each):
          values.load(each)
  return value


def outside(
  base: type[Settings], wanted: str | None = None
) -> Callable[[str], Any]:
  """A loader of parts of other packages, for `choice`.

  The loader takes 'package.module:NAME', where NAME is a part, or a class whose
  fields all have defaults. Other values raise a `ValueError`; `wanted` says in
  the message what a value must be.
  """

  def load(reference: str) -> Any:
    found = references.load(reference)
    if isinstance(found, type) and issubclass(found, base):
      try:
        return found()
      except TypeError as error:
        raise ValueError(f'cannot be created: {error}') from error
    if not isinstance(found, base):
      name = found.__name__ if isinstance(found, type) else type(found).__name__
      raise ValueError(f'is a {name}; must be a {wanted or base.__name__}')
    return found

  return load
