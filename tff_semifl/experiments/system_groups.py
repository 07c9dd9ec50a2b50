# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Groups of systems that have settings in common, for tables and texts."""

from collections.abc import Iterable

from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.experiments import system_registry
from tff_semifl.systems import averaging

# A group comes before those that it contains.
_GROUPS = {
  'systems with clients': lambda system: system.has_clients,
  'systems in one place': lambda system: not system.has_clients,
  'averaging systems': lambda system: isinstance(system, averaging.Averaging),
  'systems of short rounds': lambda system: isinstance(
    system, zhang2020.ManyShortRounds
  ),
  'pooled systems': lambda system: isinstance(system, pooled.Pooled),
}


def members() -> dict[str, list[str]]:
  """The names of the systems of each group."""
  return {
    group: [
      name for name, each in system_registry.SYSTEMS.items() if contains(each)
    ]
    for group, contains in _GROUPS.items()
  }


def split(names: Iterable[str]) -> tuple[list[str], list[str]]:
  """Splits systems into whole groups and others.

  Returns:
    The largest groups of which all members are among the systems, and the names
    of the systems in none of them.
  """
  left = set(names)
  groups = []
  for group, of_group in members().items():
    if left.issuperset(of_group):
      groups.append(group)
      left.difference_update(of_group)
  return groups, [name for name in system_registry.SYSTEMS if name in left]
