# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Fields of parts: settings, and choices of parts."""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import contextvars
import dataclasses
import functools
import math
import types
import typing
from typing import Any, ClassVar, NamedTuple, Self

from tff_semifl.settings import references
from tff_semifl.settings import values as values_lib

KEY = 'tff_semifl.settings'

_reads = contextvars.ContextVar[set[str] | None]('reads', default=None)


class Setting(NamedTuple):
  """The metadata of a field made by `setting`."""

  meaning: str
  values: values_lib.Values


class Choice(NamedTuple):
  """The metadata of a field made by `choice`."""

  meaning: str
  options: Mapping[str, 'Settings | None']
  load: Callable[[str], 'Settings'] | None
  refused: Mapping[str, str]


class Settings:
  """Base of all parts: checks the fields of the derived dataclass.

  A dataclass with a check of its own calls `super().__post_init__()` first.
  """

  # All derived classes are dataclasses.
  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

  # With this method, type checkers would accept any attribute name.
  if not typing.TYPE_CHECKING:

    def __getattribute__(self, name: str) -> Any:
      reads = _reads.get()
      if reads is not None:
        reads.add(name)
      return object.__getattribute__(self, name)

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
      _check_instance(type(self), field.name, getattr(self, field.name))
      kept = field.metadata.get(KEY)
      if isinstance(kept, Setting):
        value = _convert(
          field.name,
          value_of(self, field),
          *kind_of(type(self), field.name),
          kept.values,
        )
        object.__setattr__(self, field.name, value)


def _check_instance(owner: type[Settings], name: str, value: Any) -> None:
  """Raises a `ValueError` if a value is a class of parts, not an instance."""
  if isinstance(value, type) and issubclass(value, Settings):
    raise ValueError(
      f'{owner.__qualname__}: {name} must be an instance; write'
      f' {name}={value.__qualname__}() in place of {value.__qualname__}'
    )


def setting(
  default: Any, meaning: str, values: values_lib.Values = values_lib.ANY
) -> Any:
  """A field of a part that is a setting.

  Args:
    default: The default value. None is allowed if the field's type has None,
      even if `values` does not contain None.
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
  """A field of a part that is one of several parts, chosen by name.

  Args:
    default: The name of the default option; None if a part must be given.
    load: Loads a part of another package from 'package.module:NAME'. Records
      name such a part by its class, or by its attribute `reference`. None if
      only `options` can be chosen.
    refused: Maps names that are options of other choices, but not of this one,
      to the reason, for errors.
  """
  return dataclasses.field(
    default=dataclasses.MISSING if default is None else options[default],
    metadata={KEY: Choice(meaning, options, load, refused)},
  )


@contextlib.contextmanager
def record_reads() -> Iterator[set[str]]:
  """Yields a set that collects the names of the fields that are read.

  Describing a tree and creating its parts do not count as reads.
  """
  reads = set()
  token = _reads.set(reads)
  try:
    yield reads
  finally:
    _reads.reset(token)


def value_of(part: Settings, field: dataclasses.Field) -> Any:
  """Reads a field's value; `record_reads` does not count this."""
  return object.__getattribute__(part, field.name)


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


def _convert(
  name: str,
  value: Any,
  kind: type,
  is_optional: bool,
  values: values_lib.Values,
) -> Any:
  """Converts a value to its setting's type, or raises a `SettingError`."""
  if value is None and is_optional:
    return None
  if kind is float and type(value) is int:
    value = float(value)
  if kind is tuple and isinstance(value, list):
    value = tuple(value)
  if type(value) is not kind:
    found = ', not None' if value is None else ''
    raise values_lib.SettingError(
      name,
      value,
      f'must be of type {kind.__name__}, {values.description}{found}',
    )
  if kind is float and not math.isfinite(value):
    raise values_lib.SettingError(
      name, value, f'must be a finite number, {values.description}'
    )
  if not values.contains(value):
    hint = values_lib.did_you_mean(value, values.names)
    raise values_lib.SettingError(
      name, value, f'{hint}must be {values.description}'
    )
  if values.load is not None and value not in values.names:
    with values_lib.blame(name, value):
      values.load(value)
  return value


def outside(base: type[Settings]) -> Callable[[str], Any]:
  """A loader of parts of other packages, for `choice`.

  Returns:
    A function of 'package.module:NAME', which names a part, or a class whose
    fields all have defaults. It returns the part, or raises a `ValueError` if
    the name is neither.
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
      raise ValueError(f'is a {name}; must be a {base.__name__}')
    return found

  return load
