# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trees of parts: described, and changed by the names of settings."""

from collections.abc import Iterator, Mapping
import dataclasses
import types
from typing import Any, NamedTuple

from tff_semifl.settings import fields
from tff_semifl.settings import references
from tff_semifl.settings import values as values_lib


class Description(NamedTuple):
  """A setting and its value in a part.

  Attributes:
    kind: The setting's type: bool, int, float, str or tuple (of str).
    values: The allowed values.
    is_choice: Whether the setting chooses a part, which may have settings of
      its own.
  """

  name: str
  kind: type
  value: Any
  meaning: str
  values: values_lib.Values
  is_choice: bool


def describe(part: fields.Settings) -> Iterator[Description]:
  """Yields all settings of a tree, in the order of fields."""
  for _, each in find_settings(part):
    yield each


def describe_field(
  part: fields.Settings, field: dataclasses.Field
) -> Iterator[Description]:
  """Yields a field's description, if the field is a setting or a choice."""
  value = fields.value_of(part, field)
  kept = field.metadata.get(fields.KEY)
  if isinstance(kept, fields.Choice):
    name = _name_of(kept, value)
    yield Description(
      field.name, str, name, kept.meaning, _names_of(kept), True
    )
  elif isinstance(kept, fields.Setting):
    kind, _ = fields.kind_of(type(part), field.name)
    yield Description(field.name, kind, value, kept.meaning, kept.values, False)


def parts_of(part: fields.Settings) -> Iterator[fields.Settings]:
  """Yields all parts of a tree, starting with `part` itself."""
  yield part
  for field in dataclasses.fields(part):
    value = fields.value_of(part, field)
    if isinstance(value, fields.Settings):
      yield from parts_of(value)


def find_settings(
  part: fields.Settings,
) -> Iterator[tuple[fields.Settings, Description]]:
  """Yields all settings of a tree, each after the part that owns it."""
  for field in dataclasses.fields(part):
    for each in describe_field(part, field):
      yield part, each
    value = fields.value_of(part, field)
    if isinstance(value, fields.Settings):
      yield from find_settings(value)


def as_dict(part: fields.Settings) -> dict[str, Any]:
  """Maps the name of each setting of a tree to its value."""
  return {each.name: each.value for each in describe(part)}


def describe_all(part: fields.Settings) -> Iterator[tuple[str, Description]]:
  """Yields all settings that a tree can have, each after its choice.

  The choice is the one that the setting requires, as 'choice=option'; '' if
  the setting requires none.
  """
  for choice, _, each in _find_all(part, ''):
    yield choice, each


def _find_all(
  part: fields.Settings, choice: str
) -> Iterator[tuple[str, fields.Settings, Description]]:
  """Yields the choice, part and description of each possible setting."""
  for field in dataclasses.fields(part):
    for own in describe_field(part, field):
      yield choice, part, own
    kept = field.metadata.get(fields.KEY)
    value = fields.value_of(part, field)
    if isinstance(kept, fields.Choice):
      for name, option in kept.options.items():
        chosen = value if type(value) is type(option) else option
        if isinstance(chosen, fields.Settings):
          yield from _find_all(chosen, f'{field.name}={name}')
    elif isinstance(value, fields.Settings):
      yield from _find_all(value, choice)


def all_names(part: fields.Settings) -> set[str]:
  """The names of all settings that a tree can have."""
  return {each.name for _, each in describe_all(part)}


def all_owners(part: fields.Settings) -> dict[str, str]:
  """Maps each setting that a tree can have to its class's qualified name."""
  owners = {}
  for _, owner, each in _find_all(part, ''):
    owners.setdefault(each.name, references.qualified_name(type(owner)))
  return owners


def check_names(
  part: fields.Settings, others: Mapping[str, str] = types.MappingProxyType({})
) -> None:
  """Raises a SettingError if two parts have a setting of the same name.

  A value for this name would change only the first part, and be recorded for
  only one part. `others` maps settings outside the tree to their owners.
  """
  owners = dict(others)
  for owner, each in find_settings(part):
    own = references.qualified_name(type(owner))
    if each.name in owners:
      raise values_lib.SettingError(
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

  `changes` maps names to values; a newly chosen part's settings can be named,
  too. Raises a `SettingError` for a name without a setting.
  """
  left = dict(changes)
  changed = _change(part, left)
  for name, value in left.items():
    raise values_lib.SettingError(name, value, _explain_unknown(changed, name))
  return changed


def find_owners(part: fields.Settings, name: str) -> list[str]:
  """The choices that would add the setting `name`, as 'choice=option'."""
  return [
    owner for owner, each in describe_all(part) if owner and each.name == name
  ]


def _explain_unknown(part: fields.Settings, name: str) -> str:
  """Explains why a tree has no setting `name`."""
  owners = find_owners(part, name)
  if owners:
    return f'it is only for {" or ".join(owners)}; leave it out'
  hint = values_lib.did_you_mean(name, as_dict(part))
  return f'{hint}there is no such setting here'


def change_present(part: fields.Settings, changes: Mapping[str, Any]) -> Any:
  """Like `change`, but ignores names without a setting."""
  return _change(part, dict(changes))


def fill_in(part: fields.Settings, values: Mapping[str, Any]) -> Any:
  """Returns a tree whose settings that are None get the given values.

  Values for any other setting are ignored.
  """
  missing = {each.name for each in describe(part) if each.value is None}
  return change(part, {name: values[name] for name in missing & values.keys()})


def _change(part: fields.Settings, left: dict[str, Any]) -> fields.Settings:
  """Changes a tree, and removes the changes that were applied from `left`."""
  new = {}
  for field in dataclasses.fields(part):
    value = fields.value_of(part, field)
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
  """The part that is named `chosen`; keeps `old` if it has that name."""
  must_be = f'must be {_names_of(kept).description}'
  if not isinstance(chosen, str):
    raise values_lib.SettingError(name, chosen, must_be)
  if chosen == _name_of(kept, old):
    return old
  if chosen in kept.options:
    return kept.options[chosen]
  if kept.load is not None and ':' in chosen:
    with values_lib.blame(name, chosen):
      return kept.load(chosen)
  why = kept.refused.get(chosen)
  if why is None:
    hint = values_lib.did_you_mean(chosen, kept.options)
    raise values_lib.SettingError(name, chosen, f'{hint}{must_be}')
  raise values_lib.SettingError(name, chosen, f'{why}; {must_be}')


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


def _names_of(kept: fields.Choice) -> values_lib.Values:
  names = values_lib.one_of(*kept.options)
  if kept.load is None:
    return names
  # `ANY`, as the names of outside parts are not known.
  return values_lib.Values(
    f'{names.description}, or package.module:NAME', values_lib.ANY.contains
  )
