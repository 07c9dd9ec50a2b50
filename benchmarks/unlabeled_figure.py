# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Tables and a figure of `benchmarks.unlabeled_baselines`.

  python -m benchmarks.unlabeled_figure --folder=results/baselines

The program prints a table for each data set, and writes `gains.svg`: for each
method, the gain over the labels alone by the number of classes per client.
"""

from collections.abc import Iterator
import pathlib

from absl import app
from absl import flags
import matplotlib as mpl
from matplotlib import figure
import numpy as np

from benchmarks import baseline_methods
from benchmarks import unlabeled_baselines

_PARTITIONS = unlabeled_baselines.PARTITIONS
_ALONE = 'labels_alone'
_ACCURACIES = {'test': 'test images', 'own': "clients' own images"}

# By data set and method: percent, [partitions, seeds, accuracies].
Accuracies = dict[tuple[str, str], np.ndarray]


def collect(rows: list[dict[str, str]]) -> Accuracies:
  """The accuracies of all methods whose runs are complete."""
  found = {}
  for row in sorted(rows, key=lambda row: int(row['seed'])):
    values = [100 * float(row[kind]) for kind in _ACCURACIES]
    by_partition = found.setdefault((row['data'], row['method']), {})
    by_partition.setdefault(row['partition'], []).append(values)
  sizes = {key: {*map(len, each.values())} for key, each in found.items()}
  return {
    key: np.array([each[name] for name in _PARTITIONS])
    for key, each in found.items()
    if sizes[key] == sizes[key[0], _ALONE] and len(each) == len(_PARTITIONS)
  }


def summarize(found: Accuracies, data: str) -> Iterator[str]:
  """Yields a table of one data set, with a row for each method."""
  header = [data, *_PARTITIONS.values(), 'mean', 'worst gain']
  yield f'| {" | ".join(header)} |'
  yield f'|{len(header) * " --- |"}'
  for (name, method), values in found.items():
    if name == data:
      gain = (values - found[data, _ALONE]).min(axis=(0, 1))
      cells = [*values.mean(axis=1), values.mean(axis=(0, 1))]
      shown = [f'{test:.1f}; {own:.1f}' for test, own in cells]
      shown.append(f'{gain[0]:+.1f}; {gain[1]:+.1f}')
      bound = ' (upper bound)' * (method == baseline_methods.UPPER_BOUND)
      yield f'| {method}{bound} | {" | ".join(shown)} |'


def draw(found: Accuracies, path: pathlib.Path) -> None:
  """Plots gains over the labels alone: a panel per data set and accuracy."""
  names = list(dict.fromkeys(data for data, _ in found))
  drawn = figure.Figure(figsize=(4 * len(names), 6.5))
  panels = drawn.subplots(2, len(names), sharex=True, squeeze=False)
  colors = iter(2 * list(mpl.colormaps['tab20'].colors))
  styles = {
    unlabeled_baselines.OURS: {'color': 'black', 'lw': 2.5, 'marker': 'o'},
    baseline_methods.UPPER_BOUND: {'color': 'gray', 'ls': '--'},
  }
  for data, method in found:
    style = styles.setdefault(method, {'color': next(colors), 'lw': 1.2})
    gains = (found[data, method] - found[data, _ALONE]).mean(axis=1)
    for row, label in enumerate(_ACCURACIES.values()):
      panel = panels[row, names.index(data)]
      panel.plot(
        [*_PARTITIONS.values()],
        gains[:, row],
        label=method,
        **style,
      )
      panel.set_title(f'{data}, {label}', fontsize=10)
      panel.set_ylabel('gain over labels alone, points')
      panel.tick_params('x', rotation=30)
  drawn.legend(
    *panels[0, 0].get_legend_handles_labels(), loc='lower center', ncol=6
  )
  drawn.tight_layout(rect=(0, 0.09, 1, 1))
  # Without a date, the same rows give the same file.
  with mpl.rc_context({'svg.hashsalt': 'gains'}):
    drawn.savefig(path, metadata={'Date': None})


def main(argv: list[str]) -> None:
  """Prints tables, and draws the figure."""
  del argv
  folder = pathlib.Path(flags.FLAGS.folder)
  found = collect(unlabeled_baselines.read(folder / 'runs.csv'))
  for data in dict.fromkeys(data for data, _ in found):
    print('\n'.join([*summarize(found, data), '']))
  draw(found, folder / 'gains.svg')


if __name__ == '__main__':
  flags.mark_flag_as_required('folder')
  app.run(main)
