# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Presets: named settings, most from cells of papers' tables and figures.

`presets.csv` has a row for each preset: settings, names of shared settings in
`preset_bases.csv`, the paper's accuracy, and the table or figure. All settings
that a paper or its code states are listed, because defaults may change.

Accuracies of SemiFL are the best of all rounds: mean and population standard
deviation over seeds 0 to 3. Table 2 of SemiFL has no deviations; its rows of
centralized methods come from the FixMatch paper. Accuracies of Zhang et al.
come from one run, in a round that the paper does not name. Accuracies of (FL)^2
are mean and standard deviation of three seeds.
"""

from collections.abc import Mapping
import csv
import functools
import json
import pathlib
from typing import Any, NamedTuple

from tff_semifl import settings as settings_lib

_PRESETS = pathlib.Path(__file__).with_name('presets.csv')
_BASES = pathlib.Path(__file__).with_name('preset_bases.csv')

_Rows = Mapping[str, Mapping[str, str]]


class PaperAccuracy(NamedTuple):
  """An accuracy in a paper's table, as text and in [0, 1].

  `deviation` is the standard deviation; None if not reported.
  """

  text: str
  mean: float
  deviation: float | None


class Preset(NamedTuple):
  """Settings by name, most from a cell of a paper's table or figure.

  `name` is 'system/name'. `paper` is the paper's accuracy, None if not stated.
  `cell` describes data and partition, and names the paper's tables and figures.
  """

  name: str
  system_name: str
  settings: Mapping[str, Any]
  paper: PaperAccuracy | None
  cell: str
  note: str

  @property
  def output_dir(self) -> str:
    return f'results/{self.name}'


def names() -> tuple[str, ...]:
  """The names of all presets, in the order of the table."""
  return tuple(_read(_PRESETS))


def load(name: str) -> Preset:
  """Loads a preset; raises a SettingError if there is no such preset."""
  if name not in names():
    hint = settings_lib.did_you_mean(name, names())
    raise settings_lib.SettingError(
      'preset', name, f'{hint}there is no such preset; {_PRESETS} has them all'
    )
  row = _read(_PRESETS)[name]
  return Preset(
    name=name,
    system_name=name.partition('/')[0],
    settings=_collect_settings(row),
    paper=parse_accuracy(row['accuracy'], row['deviation'])
    if row['accuracy']
    else None,
    cell=row['cell'],
    note=row['note'],
  )


def parse_accuracy(mean: str, deviation: str | None) -> PaperAccuracy:
  """Parses an accuracy in percent; `deviation` is empty if not reported."""
  # Rounding removes floating-point errors of the division.
  fraction = round(float(mean) / 100, 4)
  if not deviation:
    return PaperAccuracy(f'{mean}%', fraction, None)
  return PaperAccuracy(
    f'{mean}% ({deviation})', fraction, round(float(deviation) / 100, 4)
  )


@functools.cache
def _read(path: pathlib.Path) -> _Rows:
  """The rows of a table, by name."""
  with path.open(newline='') as file:
    return {row['name']: row for row in csv.DictReader(file)}


def _collect_settings(row: Mapping[str, str]) -> dict[str, Any]:
  """The settings of a row and of its bases; the row's own settings prevail."""
  found = {}
  for base in row['bases'].split():
    found |= _collect_settings(_read(_BASES)[base])
  for pair in row['settings'].split():
    name, _, value = pair.partition('=')
    try:
      found[name] = json.loads(value)
    except json.JSONDecodeError:
      found[name] = value
  return found
