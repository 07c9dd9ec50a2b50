# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts that own settings: one part for each name."""

from collections.abc import Mapping
import dataclasses
import types

from tff_semifl.settings import errors
from tff_semifl.settings import fields
from tff_semifl.settings import references
from tff_semifl.settings import trees


def check_names(
  part: fields.Settings, others: Mapping[str, str] = types.MappingProxyType({})
) -> None:
  """Checks that no two parts have a setting of the same name.

  A value under this name would reach only the first part, and be recorded for
  one of both. `others` are owners of settings beside the tree, by name.
  """
  owners = dict(others)
  for owner, each in trees.find_settings(part):
    own = references.qualified_name(type(owner))
    if each.name in owners:
      raise errors.SettingError(
        each.name,
        each.value,
        f'{own} and {owners[each.name]} both have a setting of this name;'
        ' rename one of them',
      )
    owners[each.name] = own


def all_owners(part: fields.Settings) -> dict[str, str]:
  """Qualified classes that own the settings a tree can have, by name."""
  owners = {
    each.name: references.qualified_name(type(owner))
    for owner, each in trees.find_settings(part)
  }
  for field in dataclasses.fields(part):
    kept = field.metadata.get(fields.KEY)
    if isinstance(kept, fields.Choice):
      for option in filter(None, kept.options.values()):
        owners = all_owners(option) | owners
    elif isinstance(getattr(part, field.name), fields.Settings):
      owners = all_owners(getattr(part, field.name)) | owners
  return owners
