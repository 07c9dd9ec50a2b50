# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of the cells of the papers' tables and figures, by name.

`presets.csv` has a row for each: its own settings, the rows of shared settings
in `preset_bases.csv` that they come on top of, what the paper reached, and in
which table or figure; no accuracy where the text has no number, as figures are
pictures. No cell relies on a default for what its paper or its authors' code
states: a default may change.

Accuracies of SemiFL's paper are the best test accuracies of all rounds, mean
and population standard deviation of seeds 0 to 3 (D16); its Table 2 has no
deviations, and its rows of semi-supervised learning in one place are results of
the FixMatch paper and its code (D52, S1, S2). Those of Zhang et al. are of one
run, and the paper does not say whether they are the last or the best (D50); nor
does that of (FL)^2, whose are mean and standard deviation of three seeds.
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
  """A cell of a paper's table.

  Attributes:
    text: As it is written there, such as '93.1% (0.1)'.
    mean: The test accuracy, in [0, 1]; of which rounds and seeds, this module
      says.
    deviation: Its population standard deviation; None if there is none.
  """

  text: str
  mean: float
  deviation: float | None


class Preset(NamedTuple):
  """The settings of a cell.

  Attributes:
    name: 'system/name'.
    system_name: The system.
    settings: Values of settings by name.
    paper: What the paper reached; None if its text has no number.
    cell: What it is, and the tables and figures that have it.
    note: What there is to know of it, or ''.
  """

  name: str
  system_name: str
  settings: Mapping[str, Any]
  paper: PaperAccuracy | None
  cell: str
  note: str

  @property
  def output_dir(self) -> str:
    """The default folder of its experiments, which no other preset has."""
    return f'results/{self.name}'


def names() -> tuple[str, ...]:
  """Returns the names of all presets, in the order of the table."""
  return tuple(_read(_PRESETS))


def load(name: str) -> Preset:
  """Returns the preset of that name.

  Args:
    name: One of `names()`.

  Raises:
    settings.SettingError: If there is none.
  """
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
  """Returns what a paper reached, from percentages as they are written.

  Args:
    mean: '93.1', say.
    deviation: '0.1', say; None or '' if there is none.
  """
  if not deviation:
    return PaperAccuracy(f'{mean}%', _fraction(mean), None)
  return PaperAccuracy(
    f'{mean}% ({deviation})', _fraction(mean), _fraction(deviation)
  )


@functools.cache
def _read(path: pathlib.Path) -> _Rows:
  """Returns the rows of a table by their names."""
  with path.open(newline='') as file:
    return {row['name']: row for row in csv.DictReader(file)}


def _collect_settings(row: Mapping[str, str]) -> dict[str, Any]:
  """Returns the settings of a row; they count for more than those of bases."""
  found = {}
  for base in row['bases'].split():
    found |= _collect_settings(_read(_BASES)[base])
  for pair in row['settings'].split():
    name, _, value = pair.partition('=')
    found[name] = _parse_value(value)
  return found


def _parse_value(text: str) -> Any:
  """Returns a number or a truth value, or the text if it is neither."""
  try:
    return json.loads(text)
  except json.JSONDecodeError:
    return text


def _fraction(percentage: str) -> float:
  # To the digits that it has, and no others.
  return round(float(percentage) / 100, 4)
