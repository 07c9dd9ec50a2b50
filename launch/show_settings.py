# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Prints the tables of all settings in Markdown, for docs/settings.md.

python -m launch.show_settings
"""

import collections
from collections.abc import Iterable, Iterator
import dataclasses
import functools
from typing import NamedTuple

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.cli import commands
from tff_semifl.cli import help_text
from tff_semifl.cli import program
from tff_semifl.experiment import system_registry
from tff_semifl.results import markdown

_HEADING = """\
# Settings

These are the settings of `python -m launch.train SYSTEM`. Each setting is a
flag. `python -m launch.show_settings` generates this page from the dataclasses
of the settings. Parentheses after a meaning name the systems that have the
setting, unless all have it, and the value that another setting must have, such
as `task=image_folder`. If the column `default` is empty, there is no default,
or the meaning describes the default. The meanings use these names of groups of
systems:
"""


@functools.cache
def _members() -> dict[str, list[str]]:
  """The names of the systems in each group, larger groups first."""
  members = collections.defaultdict(list)
  for name, system in system_registry.SYSTEMS.items():
    is_member = {
      'systems with clients': system.has_clients,
      'systems in one place': not system.has_clients,
      'averaging systems': isinstance(system, averaging.Averaging),
      'systems of short rounds': isinstance(system, zhang2020.ManyShortRounds),
      'pooled systems': isinstance(system, pooled.Pooled),
    }
    for group, is_one in is_member.items():
      members[group] += [name] if is_one else []
  return members


class _Row(NamedTuple):
  """A setting, as a row of a table.

  `owners` are the choices that have the setting, such as 'task=cifar10'; empty
  if the setting always exists. `defaults` has the default of each system.
  """

  owners: list[str]
  setting: settings.Description
  defaults: dict[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowSettings(settings.Settings):
  """This program has no settings."""


def main(_: ShowSettings) -> None:
  """Prints the page."""
  print(create_page(), end='')


def create_page() -> str:
  """The page of all settings, in Markdown."""
  groups = collections.defaultdict(dict)
  for system_name in system_registry.SYSTEMS:
    command = commands.create(system_name, {})
    # Several models have a setting `model_depth`, each with another meaning.
    chosen = {
      (each.name, each.meaning): each.value
      for each in settings.describe(command)
    }
    for group, parts in command.groups().items():
      for part in parts:
        for owner, setting in settings.describe_all(part):
          key = setting.name, setting.meaning
          row = groups[group].setdefault(key, _Row([], setting, {}))
          if owner and owner not in row.owners:
            row.owners.append(owner)
          default = chosen.get(key, setting.value)
          row.defaults[system_name] = settings.show(default)
  members = (
    (group, ', '.join(f'`{name}`' for name in names))
    for group, names in _members().items()
  )
  lines = [_HEADING, markdown.table(('group', 'systems'), members)]
  for group, rows in groups.items():
    lines.extend(['', f'## {group.capitalize()}', ''])
    cells = map(_format, rows.values())
    lines.append(markdown.table(('setting', 'default', 'meaning'), cells))
  return '\n'.join(lines) + '\n'


def _format(row: _Row) -> tuple[str, str, str]:
  meaning = help_text.describe(row.setting)
  # Escapes the delimiters of cells, and HTML.
  meaning = meaning.replace('|', r'\|').replace('<', '&lt;')
  if row.setting.values.names and not row.setting.is_choice:
    meaning = f'{meaning} One of {", ".join(row.setting.values.names)}.'
  where = '; '.join(_say_where(row))
  if where:
    meaning = f'{meaning} (For {where}.)'
  return f'`{row.setting.name}`', _format_default(row), meaning


def _say_where(row: _Row) -> Iterator[str]:
  if row.owners:
    yield ' or '.join(f'`{owner}`' for owner in row.owners)
  names = _say_systems(row.defaults)
  others = _say_systems(system_registry.SYSTEMS.keys() - row.defaults.keys())
  if len(others) >= len(names):
    yield ', '.join(names)
  elif others:
    yield f'all but {", ".join(others)}'


def _say_systems(names: Iterable[str]) -> list[str]:
  """Names whole groups of systems, the largest first, then single systems."""
  left, said = set(names), []
  for group, members in _members().items():
    if left.issuperset(members):
      said.append(group)
      left.difference_update(members)
  return said + [
    f'`{name}`' for name in system_registry.SYSTEMS if name in left
  ]


def _format_default(row: _Row) -> str:
  """The most common default, then the systems with other defaults."""
  (usual, _), *_ = collections.Counter(row.defaults.values()).most_common()
  by_value = collections.defaultdict(list)
  for system_name, default in row.defaults.items():
    by_value[default].append(system_name)
  del by_value[usual]
  others = [
    f'{default} for {", ".join(_say_systems(names))}'
    for default, names in by_value.items()
  ]
  if usual == 'None':
    usual = 'see meaning' if others else ''
  return '; '.join([usual, *others])


if __name__ == '__main__':
  program.run(main, ShowSettings())
