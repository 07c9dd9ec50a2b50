# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes trees of parts, and changes settings by name."""

from collections.abc import Iterator, Mapping
import dataclasses
import types
from typing import Any, NamedTuple

from tff_semifl.settings import fields
from tff_semifl.settings import references


class Description(NamedTuple):
  """A setting and its value in a part.

  Attributes:
    kind: The setting's type: bool, int, float, str or tuple (of str).
    values: The allowed values.
    is_choice: Whether the setting chooses a part, which may have its own
      settings.
  """

  name: str
  kind: type
  value: Any
  meaning: str
  values: fields.Values
  is_choice: bool = False


def describe(part: fields.Settings) -> Iterator[Description]:
  """Yields all settings of a tree, in the order of fields."""
  return (each for _, _, each in _walk(part))


def describe_all(part: fields.Settings) -> Iterator[tuple[str, Description]]:
  """Yields (condition, setting) for all settings, also of options not chosen.

  The condition is 'field=option' if only this option has the setting, else ''.
  """
  return ((choice, each) for choice, _, each in _walk(part, all_options=True))


def _walk(
  part: fields.Settings, choice: str = '', *, all_options: bool = False
) -> Iterator[tuple[str, fields.Settings, Description]]:
  for field in dataclasses.fields(part):
    value = getattr(part, field.name)
    kept = field.metadata.get(fields.KEY)
    inner = {choice: value}
    if isinstance(kept, fields.Setting):
      kind, _ = fields.kind_of(type(part), field.name)
      yield choice, part, Description(field.name, kind, value, *kept)
    elif isinstance(kept, fields.Choice):
      name, names = _name_of(kept, value), _names_of(kept)
      yield (
        choice,
        part,
        Description(field.name, str, name, kept.meaning, names, is_choice=True),
      )
      if all_options:
        inner = {
          f'{field.name}={name}': value
          if type(value) is type(option)
          else option
          for name, option in kept.options.items()
        }
    for inner_choice, each in inner.items():
      if isinstance(each, fields.Settings):
        yield from _walk(each, inner_choice, all_options=all_options)


def parts_of(part: fields.Settings) -> Iterator[fields.Settings]:
  """Yields all parts of a tree, starting with `part` itself."""
  yield part
  for field in dataclasses.fields(part):
    value = getattr(part, field.name)
    if isinstance(value, fields.Settings):
      yield from parts_of(value)


def as_dict(part: fields.Settings) -> dict[str, Any]:
  """Maps the name of each setting of a tree to its value."""
  return {each.name: each.value for each in describe(part)}


def all_names(part: fields.Settings) -> set[str]:
  """The names of all settings that a tree can have, with any options."""
  return {each.name for _, each in describe_all(part)}


def all_owners(part: fields.Settings) -> dict[str, str]:
  """Maps each setting that a tree can have to its class's qualified name."""
  owners = {}
  for _, owner, each in _walk(part, all_options=True):
    owners.setdefault(each.name, references.qualified_name(type(owner)))
  return owners


def check_names(
  part: fields.Settings, others: Mapping[str, str] = types.MappingProxyType({})
) -> None:
  """Raises a SettingError if two parts have a setting of the same name.

  A value for this name would change, and be recorded for, only one part.
  `others` maps names of settings outside the tree to classes.
  """
  owners = dict(others)
  for _, owner, each in _walk(part):
    own = references.qualified_name(type(owner))
    if each.name in owners:
      raise fields.SettingError(
        each.name,
        each.value,
        f'{own} and {owners[each.name]} both have a setting of this name;'
        ' rename one of them',
      )
    owners[each.name] = own


def name_of(part: fields.Settings, name: str) -> str:
  """The name of the option that the choice field `name` holds."""
  (field,) = (each for each in dataclasses.fields(part) if each.name == name)
  return _name_of(field.metadata[fields.KEY], getattr(part, name))


def change(part: fields.Settings, changes: Mapping[str, Any]) -> Any:
  """Returns a tree with some settings changed.

  `changes` maps names to values, including settings of newly chosen parts.
  Raises a `SettingError` for names without a setting.
  """
  left = dict(changes)
  changed = _change(part, left)
  for name, value in left.items():
    owners = find_owners(changed, name)
    if owners:
      problem = f'it is only for {" or ".join(owners)}; leave it out'
    else:
      hint = fields.did_you_mean(name, as_dict(changed))
      problem = f'{hint}there is no such setting here'
    raise fields.SettingError(name, value, problem)
  return changed


def find_owners(part: fields.Settings, name: str) -> list[str]:
  """The options with the setting `name`, each as 'choice=option'."""
  return [
    owner for owner, each in describe_all(part) if owner and each.name == name
  ]


def change_present(part: fields.Settings, changes: Mapping[str, Any]) -> Any:
  """Like `change`, but ignores names without a setting."""
  return _change(part, dict(changes))


def fill_in(part: fields.Settings, values: Mapping[str, Any]) -> Any:
  """Returns a tree whose settings that are None get the given values.

  Values for other settings are ignored.
  """
  missing = {each.name for each in describe(part) if each.value is None}
  return change(part, {name: values[name] for name in missing & values.keys()})


def _change(part: fields.Settings, left: dict[str, Any]) -> fields.Settings:
  new = {}
  for field in dataclasses.fields(part):
    value = getattr(part, field.name)
    kept = field.metadata.get(fields.KEY)
    if kept is not None and field.name in left:
      chosen = left.pop(field.name)
      if isinstance(kept, fields.Setting):
        new[field.name] = chosen
        continue
      new[field.name] = value = _choose(kept, field.name, value, chosen)
    if isinstance(value, fields.Settings):
      changed = _change(value, left)
      if changed is not value:
        new[field.name] = changed
  return dataclasses.replace(part, **new) if new else part


def _choose(
  kept: fields.Choice, name: str, old: fields.Settings | None, chosen: Any
) -> fields.Settings | None:
  """The part with the name `chosen`; keeps `old` if it has that name."""
  must_be = f'must be {_names_of(kept).description}'
  given = references.give(chosen)
  if kept.load is not None and isinstance(given, references.Given):
    with fields.blame(name, given):
      return kept.load(given)
  if not isinstance(chosen, str):
    raise fields.SettingError(name, chosen, must_be)
  if chosen == _name_of(kept, old):
    return old
  if chosen in kept.options:
    return kept.options[chosen]
  if kept.load is not None and ':' in chosen:
    with fields.blame(name, chosen):
      return kept.load(chosen)
  if chosen in kept.refused:
    hint = f'{kept.refused[chosen]}; '
  else:
    hint = fields.did_you_mean(chosen, kept.options)
  raise fields.SettingError(name, chosen, f'{hint}{must_be}')


def _name_of(kept: fields.Choice, part: fields.Settings | None) -> str:
  own = getattr(part, 'reference', references.qualified_name(type(part)))
  # Avoids importing the other options.
  if own in kept.options and type(kept.options[own]) is type(part):
    return own
  for name, option in kept.options.items():
    # A part loaded by name may have the class of an option.
    if type(option) is type(part) and own in (
      name,
      getattr(option, 'reference', own),
    ):
      return name
  return own


def _names_of(kept: fields.Choice) -> fields.Values:
  names = fields.one_of(*kept.options)
  if kept.load is None:
    return names
  # `ANY`, because the names of outside parts are unknown.
  return fields.Values(
    f'{names.description}, or package.module:NAME', fields.ANY.contains
  )
