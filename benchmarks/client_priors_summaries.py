# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Markdown tables of recorded runs of `client_priors`."""

import collections
from collections.abc import Iterator
import csv
import pathlib

import numpy as np


def read_rows(path: pathlib.Path) -> list[list[str]]:
  """The rows of a table, without its header."""
  if not path.exists():
    return []
  with path.open() as file:
    return list(csv.reader(file))[1:]


def summarize_cells(rows: list[list[str]]) -> Iterator[str]:
  """Yields a table of means, standard errors and worst seeds.

  Args:
    rows: Rows of `client_priors_table`.
  """
  yield (
    '| skew | labels | clients | seeds | labels alone | exported | gain |'
    ' worst gain | kept | ECE | SemiFL | all labels |'
  )
  yield f'|{12 * " --- |"}'
  for cell in dict.fromkeys(tuple(row[:3]) for row in rows):
    found = [row for row in rows if tuple(row[:3]) == cell]
    alone, ours, semifl, all_labels, errors = (
      100 * np.array([float(row[column]) for row in found if row[column]])
      for column in (4, 5, 6, 7, 10)
    )
    gain = ours - alone
    kept = collections.Counter(row[8] for row in found).most_common()
    yield (
      f'| {" | ".join(cell)} | {len(found)} | {_show(alone)} | {_show(ours)} |'
      f' {_show(gain, "+")} | {gain.min():+.1f} |'
      f' {", ".join(f"{name} {count}" for name, count in kept)} |'
      f' {errors.mean():.1f} | {_show(semifl)} | {_show(all_labels[:1])} |'
    )


def summarize_inputs(rows: list[list[str]]) -> Iterator[str]:
  """Yields a table of means over seeds.

  Args:
    rows: Rows of `client_priors_runs`.
  """
  yield '| input | labels alone | exported | worst gain | kept | spread |'
  yield '| --- | --- | --- | --- | --- | --- |'
  for name in dict.fromkeys(row[0] for row in rows):
    found = [row for row in rows if row[0] == name]
    alone, exported = (
      100 * np.array([float(row[column]) for row in found]) for column in (2, 3)
    )
    kept = ', '.join(sorted({row[4] for row in found}))
    spread = np.mean([float(row[5]) for row in found])
    yield (
      f'| {name} | {alone.mean():.1f} | {exported.mean():.1f} |'
      f' {(exported - alone).min():+.1f} | {kept} | {spread:.3f} |'
    )


def summarize_sites(rows: list[list[str]]) -> Iterator[str]:
  """Yields a table of means over seeds, in percent; see `site_shares`.

  Args:
    rows: Rows of `site_shares`.
  """
  yield (
    '| system | data | labels | clients | seeds | global (worst tenth) |'
    ' own shares (worst tenth) | least gain | ECE | ECE, own | new site, global'
    ' | 1 image | 3 | 10 | 30 |'
  )
  yield f'|{15 * " --- |"}'
  for cell in dict.fromkeys(tuple(row[:4]) for row in rows):
    found = np.array(
      [row[5:] for row in rows if tuple(row[:4]) == cell], np.float64
    )
    mean = 100 * found.mean(axis=0)
    new = ' | '.join(
      '' if np.isnan(each) else f'{each:.1f}'
      for each in (mean[9], *mean[10::2])
    )
    yield (
      f'| {" | ".join(cell)} | {len(found)} | {mean[0]:.1f} ({mean[1]:.1f}) |'
      f' {mean[2]:.1f} ({mean[3]:.1f}) |'
      f' {100 * (found[:, 2] - found[:, 0]).min():+.1f} | {mean[4]:.1f} |'
      f' {mean[5]:.1f} | {new} |'
    )


def summarize_networks(rows: list[list[str]]) -> Iterator[str]:
  """Yields table rows with means over seeds of `priors_to_network`."""
  cells = {}
  for *cell, seed, classifier, accuracy, right, _ in rows:
    found = cells.setdefault(tuple(cell), {}).setdefault(classifier, {})
    found[seed] = 100 * float(accuracy), 100 * float(right)
  for cell, found in cells.items():
    seeds = [
      seed
      for seed in found.get('network', ())
      if seed in found.get('layer', ())
    ]
    if not seeds:
      continue
    alone, layer, network = (
      np.array([found[name][seed] for seed in seeds])
      for name in ('labels_alone', 'layer', 'network')
    )
    gain = network[:, 0] - layer[:, 0]
    accuracies = [
      f'{each[:, 0].mean():.1f} ({each[:, 0].min():.1f})'
      for each in (alone, layer, network)
    ]
    accuracies.insert(2, f'{layer[:, 1].mean():.1f}')
    numbers = (*accuracies, f'{gain.mean():+.1f} ({gain.min():+.1f})')
    yield f'| {" | ".join([*cell, str(len(seeds)), *numbers])} |'


def _show(values: np.ndarray, sign: str = '') -> str:
  """A mean and its standard error, as text."""
  if len(values) < 2:
    return ', '.join(f'{value:{sign}.1f}' for value in values)
  error = values.std(ddof=1) / len(values) ** 0.5
  return f'{values.mean():{sign}.1f} ± {error:.1f}'


def summarize_seeds(rows: list[list[str]]) -> Iterator[str]:
  """Yields the accuracies of each seed in percent, and the means of several."""
  accuracies = 100 * np.array([row[1:] for row in rows], float)
  names = [row[0] for row in rows]
  if len(rows) > 1:
    names.append('mean')
    accuracies = np.append(accuracies, [accuracies.mean(axis=0)], axis=0)
  for name, row in zip(names, accuracies, strict=True):
    yield f'| {name} | {" | ".join(f"{each:.1f}" for each in row)} |'
