# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The identity of a tree of parts, beside the values of its settings."""

import dataclasses
from typing import Any

from tff_semifl.settings import digests
from tff_semifl.settings import fields
from tff_semifl.settings import references

_PLAIN = (bool, int, float, str, type(None))


def identify(part: fields.Settings) -> dict[str, Any]:
  """The classes of a tree, and its fields that are no settings, for JSON.

  Two trees with equal identities and settings compute the same.

  Returns:
    'class' with the qualified name, 'code' with a digest if the class is a
    user's own, and fields by name: parts in the same form, numbers and texts
    unchanged, other values as type or name and digest.
  """
  return _identify(part, '')


def _identify(value: Any, path: str) -> Any:
  if isinstance(value, _PLAIN):
    return value
  kind = type(value)
  try:
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
      return {
        'name': references.qualified_name(value),
        'digest': digests.digest(value),
      }
    found = {'class': references.qualified_name(kind)}
    if not references.is_of_library(kind):
      found['code'] = digests.digest(kind)
  except ValueError as error:
    where = f'field {path} ' if path else ''
    name = references.qualified_name(value)
    raise ValueError(f'{where}({name}) {error}') from error
  kept = {
    field.name: field.metadata.get(fields.KEY)
    for field in dataclasses.fields(value)
  }
  for name, each in digests.told_fields(value):
    setting = kept[name]
    if isinstance(setting, fields.Setting):
      load, names = setting.values.load, setting.values.names
      if load is None or each is None or each in names:
        continue
      # The code behind a name may change.
      each = load(each)
    found[name] = _identify(each, f'{path}.{name}' if path else name)
  return found
