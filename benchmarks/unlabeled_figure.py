# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Tables and a figure of `benchmarks.unlabeled_baselines`.

  python -m benchmarks.unlabeled_figure --folder=results/baselines

Prints a table for each data set, and writes `gains.svg`: the gain over the
labels alone by how many classes a client has, a line for each method.
"""

from collections.abc import Iterator
import pathlib

from absl import app
from absl import flags
import matplotlib
import numpy as np

from benchmarks import baseline_methods
from benchmarks import unlabeled_baselines

matplotlib.use('Agg')

from matplotlib import pyplot  # noqa: E402

_FOLDER = flags.DEFINE_string('folder', None, 'Folder of the CSV files.')
# From few classes of a client to all.
_LABELS = {
  'classes2': '2 classes',
  'dirichlet0.1': 'Dirichlet(0.1)',
  'classes5': '5 classes',
  'dirichlet0.5': 'Dirichlet(0.5)',
  'iid': 'alike',
}
_ALONE = 'labels_alone'
_ACCURACIES = {'test': 'test images', 'own': "clients' own images"}

# The accuracy of each seed in percent, by data, method, partition and kind.
Accuracies = dict[tuple[str, str, str, str], np.ndarray]


def collect(rows: list[dict[str, str]]) -> Accuracies:
  """The accuracies of rows of `runs.csv`, in the order of seeds."""
  found: dict[tuple[str, str, str, str], list[float]] = {}
  for row in sorted(rows, key=lambda row: int(row['seed'])):
    for kind in _ACCURACIES:
      key = row['data'], row['method'], row['partition'], kind
      found.setdefault(key, []).append(100 * float(row[kind]))
  return {key: np.array(values) for key, values in found.items()}


def _is_bound(method: str) -> bool:
  found = baseline_methods.METHODS.get(method)
  return found is not None and found.is_bound


def summarize(found: Accuracies, data: str) -> Iterator[str]:
  """Yields a table of one data set: a row for each method."""
  yield f'| {data} | {" | ".join(_LABELS.values())} | mean | worst gain |'
  yield f'|{(len(_LABELS) + 3) * " --- |"}'
  for method in dict.fromkeys(key[1] for key in found if key[0] == data):
    cells, means, gains = [], [], []
    for partition in _LABELS:
      both = [found[data, method, partition, kind] for kind in _ACCURACIES]
      alone = [found[data, _ALONE, partition, kind] for kind in _ACCURACIES]
      means.append([each.mean() for each in both])
      gains.append([(a - b).min() for a, b in zip(both, alone, strict=True)])
      cells.append('; '.join(f'{mean:.1f}' for mean in means[-1]))
    mean = '; '.join(f'{each:.1f}' for each in np.mean(means, axis=0))
    worst = '; '.join(f'{each:+.1f}' for each in np.min(gains, axis=0))
    name = f'{method} (upper bound)' if _is_bound(method) else method
    yield f'| {name} | {" | ".join(cells)} | {mean} | {worst} |'


def draw(found: Accuracies, path: pathlib.Path) -> None:
  """Draws gains over the labels alone, with a panel for data and accuracy."""
  names = list(dict.fromkeys(key[0] for key in found))
  methods = [
    method
    for method in dict.fromkeys(key[1] for key in found)
    if method != _ALONE
  ]
  figure, axes = pyplot.subplots(
    2, len(names), figsize=(4 * len(names), 6.5), sharex=True, squeeze=False
  )
  colors = pyplot.get_cmap('tab20')
  for column, data in enumerate(names):
    for row, (kind, label) in enumerate(_ACCURACIES.items()):
      panel = axes[row, column]
      panel.axhline(0, color='gray', linewidth=0.8)
      for index, method in enumerate(methods):
        gains = [
          np.mean(
            found[data, method, partition, kind]
            - found[data, _ALONE, partition, kind]
          )
          for partition in _LABELS
        ]
        ours = method == unlabeled_baselines.OURS
        panel.plot(
          list(_LABELS.values()),
          gains,
          label=method,
          color='black' if ours else colors(index),
          linewidth=2.5 if ours else 1.2,
          linestyle='--' if _is_bound(method) else '-',
          marker='o' if ours else None,
        )
      panel.set_ylim(bottom=max(panel.get_ylim()[0], -30))
      panel.tick_params('x', rotation=30)
      panel.set_title(f'{data}, {label}', fontsize=10)
    axes[0, column].tick_params('x', labelbottom=False)
  for row in axes:
    row[0].set_ylabel('gain over labels alone, points')
  figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc='lower center', ncol=6
  )
  figure.tight_layout(rect=(0, 0.09, 1, 1))
  # Without a date, the same rows give the same file.
  figure.savefig(path, metadata={'Date': None})
  pyplot.close(figure)


def main(argv: list[str]) -> None:
  """Prints tables, and draws the figure."""
  del argv
  folder = pathlib.Path(_FOLDER.value)
  rows = unlabeled_baselines.read(folder / 'runs.csv')
  if not rows:
    raise app.UsageError(
      f'--folder: {folder / "runs.csv"} has no run;'
      ' benchmarks.unlabeled_baselines writes it'
    )
  found = collect(rows)
  for data in dict.fromkeys(row['data'] for row in rows):
    print('\n'.join([*summarize(found, data), '']))
  draw(found, folder / 'gains.svg')


if __name__ == '__main__':
  flags.mark_flag_as_required(_FOLDER.name)
  app.run(main)
