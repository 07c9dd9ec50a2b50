# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Groups of runs that differ in their seed, or in the fold they validate on."""

from collections.abc import Mapping, Sequence
import json
import re
from typing import NamedTuple

from tff_semifl.experiments import run_settings
from tff_semifl.reports import measured
from tff_semifl.reports import run_record

# Settings in which runs of a group differ.
_REPEATED = ('seed', 'validation_fold')
_IN_NAMES = re.compile(r'_?(seed\d+|fold\d+of\d+)')


class Group(NamedTuple):
  """Runs of the same settings but for the seed, or the fold.

  Attributes:
    name: What to call it, unlike others.
    runs: The runs, by seed and fold.
    values: The metrics of each, by name.
  """

  name: str
  runs: Mapping[tuple[object, ...], run_record.RunRecord]
  values: Mapping[tuple[object, ...], Mapping[str, float]]

  def has(self, metric: str) -> bool:
    """Whether a metric of all runs is known."""
    return all(metric in each for each in self.values.values())


def find(runs: Sequence[run_record.RunRecord]) -> list[Group]:
  """The groups of runs, in the order of the first run of each.

  A run that has the settings and the seed of an earlier one, and differs in
  what nobody recorded, is a group of its own.
  """
  by_settings: dict[str, list[dict]] = {}
  for run in runs:
    flags = run.hparams.flags
    rest = {
      name: value
      for name, value in flags.items()
      if name not in _REPEATED and name not in run_settings.UNIMPORTANT
    }
    key = json.dumps([run.hparams.system, rest], sort_keys=True)
    repeated = tuple(flags.get(name) for name in _REPEATED)
    same = by_settings.setdefault(key, [{}])
    for each in same:
      if repeated not in each:
        each[repeated] = run
        break
    else:
      same.append({repeated: run})
  groups, taken = [], set()
  for members in (each for same in by_settings.values() for each in same):
    first = next(iter(members.values())).name
    name = _IN_NAMES.sub('', first).strip('_') or first
    if name in taken:
      name = first
    taken.add(name)
    values = {key: measured.compute(run) for key, run in members.items()}
    groups.append(Group(name, members, values))
  return groups
