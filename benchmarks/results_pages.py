# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Fills in the tables of docs/results from the recorded runs beside the pages.

  python -m benchmarks.results_pages

In a page, a table lies between `<!-- KIND FOLDER -->` and `<!-- end -->`. KIND
is one of:

  runs      all experiments of a folder, `<experiment>_seed<seed>/metrics.csv`
  periods   experiments with different periods between averages
  chosen    experiments with tuned and with shared learning rates
  search    the validation losses that chose the learning rates
  rounds    the rounds of single runs
  tuned     the tables of `benchmarks.digits_table`

A test fails if a page and its runs differ.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import csv
import math
import pathlib
import re
import statistics

from absl import app

from benchmarks import digits_table

RESULTS = pathlib.Path(__file__).parents[1] / 'docs' / 'results'
_PLACE = re.compile(r'<!-- (\w+) (\S+) -->\n.*?<!-- end -->', re.DOTALL)
_SHARED_RATE = '0.1'
_RATES = ('0.01', '0.03', '0.1', '0.3', '1')
_PSEUDO_LABELS = {
  'trained on': 'client/label_ratio',
  'right': 'client/pseudo_accuracy',
  # The fraction of all training labels: a mean over clients would include
  # clients without labels.
  'right of these': 'client/micro_threshold_accuracy',
}
_Runs = dict[str, list[dict[str, str]]]
with (RESULTS / 'names.csv').open(newline='') as names:
  _NAMES = {row['experiment']: row['name'] for row in csv.DictReader(names)}


def fill_in(page: str) -> str:
  """Replaces the tables of a page by tables of the recorded runs.

  Raises:
    KeyError: If the kind of a table is unknown.
  """

  def write(place: re.Match[str]) -> str:
    lines = '\n'.join(_KINDS[place[1]](place[2]))
    return f'<!-- {place[1]} {place[2]} -->\n{lines}\n<!-- end -->'

  return _PLACE.sub(write, page)


def read_runs(folder: str, name: str) -> _Runs:
  """The rows of `metrics.csv` of an experiment, by seed."""
  runs = {}
  for path in (RESULTS / folder).glob(f'{name}_seed*/metrics.csv'):
    with path.open(newline='') as file:
      runs[path.parent.name.rpartition('_seed')[2]] = list(csv.DictReader(file))
  return dict(sorted(runs.items(), key=lambda item: int(item[0])))


def _names(folder: str) -> list[str]:
  """The experiments of a folder, by mean last accuracy, the best first."""
  found = {
    path.parent.name.rpartition('_seed')[0]
    for path in (RESULTS / folder).glob('*/metrics.csv')
  }
  return sorted(
    found,
    key=lambda name: (-statistics.fmean(_last(read_runs(folder, name))), name),
  )


def _title(name: str) -> str:
  """An experiment in words, and the name of its runs."""
  for prefix, words in (
    ('cameras_', 'cameras, '),
    ('uneven_labels_', 'uneven labels, '),
    ('few_images_', 'few images, '),
    ('noise_0_05_', 'noise of 0.05, '),
    ('noise_0_1_', 'noise of 0.1, '),
  ):
    if name.startswith(prefix):
      return f'{words}{_NAMES[name.removeprefix(prefix)]}, `{name}`'
  return f'{_NAMES[name]}, `{name}`'


def _last(runs: _Runs, column: str = 'test/accuracy') -> list[float]:
  return [float(rows[-1][column]) for rows in runs.values()]


def _show(values: Sequence[float]) -> str:
  """A mean, and the sample standard deviation in parentheses, as text."""
  shown = f'{statistics.fmean(values):.1%}'
  if len(values) > 1:
    shown += f' ({100 * statistics.stdev(values):.1f})'
  return shown


def _show_difference(ours: _Runs, others: _Runs) -> str:
  """The mean paired difference in points, and its standard error, as text."""
  seeds = [seed for seed in ours if seed in others]
  if len(seeds) < 2:
    return ''
  points = [
    100 * (_last({0: ours[seed]})[0] - _last({0: others[seed]})[0])
    for seed in seeds
  ]
  error = statistics.stdev(points) / math.sqrt(len(points))
  return f'{statistics.fmean(points):+.1f} ± {error:.1f}'


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
  heading, *others = rows
  for row in (heading, ['---'] * len(heading), *others):
    yield f'| {" | ".join(row)} |'


def _runs(folder: str) -> Iterator[str]:
  semifl = read_runs(folder, 'semifl')
  rows = []
  for name in _names(folder):
    runs = read_runs(folder, name)
    cells = [
      _title(name),
      str(len(runs)),
      _show(_last(runs)),
      _show(_last(runs, 'test/best_accuracy')),
      '' if name == 'semifl' else _show_difference(runs, semifl),
    ]
    for column in _PSEUDO_LABELS.values():
      values = [
        float(each[-1][column])
        for each in runs.values()
        if each[-1].get(column)
      ]
      cells.append(f'{statistics.fmean(values):.0%}' if values else '')
    rows.append(cells)
  heading = ['', 'seeds', 'last', 'best', 'minus SemiFL', *_PSEUDO_LABELS]
  used = [k for k in range(len(heading)) if any(row[k] for row in rows)]
  return _table([[row[k] for k in used] for row in (heading, *rows)])


def _periods(folder: str) -> Iterator[str]:
  rows = []
  for name in _names(folder):
    if '_learning_rate' not in name:
      runs = read_runs(folder, name)
      best = _last(runs, 'test/best_accuracy')
      rows.append(
        [_title(name), str(len(runs)), _show(_last(runs)), _show(best)]
      )
  return _table([['', 'seeds', 'last', 'best'], *rows])


def _chosen(folder: str) -> Iterator[str]:
  shared_folder = folder.removesuffix('_fair')
  rows = []
  for name in sorted(_searched(folder)):
    losses = {rate: _validation(folder, name, rate)[0] for rate in _RATES}
    rate = min(losses, key=losses.__getitem__)
    shared = read_runs(shared_folder, name) or read_runs(
      folder, f'{name}_learning_rate{_SHARED_RATE}'
    )
    runs = (
      shared
      if rate == _SHARED_RATE
      else read_runs(folder, f'{name}_learning_rate{rate}')
    )
    best = _last(runs, 'test/best_accuracy')
    rows.append((_last(runs), [_title(name), rate], best, _last(shared)))
  rows.sort(key=lambda row: -statistics.fmean(row[0]))
  return _table(
    [
      ['', 'rate', 'last', 'best', f'last with {_SHARED_RATE}'],
      *(
        [*cells, _show(last), _show(best), _show(shared)]
        for last, cells, best, shared in rows
      ),
    ]
  )


def _searched(folder: str) -> set[str]:
  return {
    path.name.partition('_learning_rate')[0]
    for path in (RESULTS / folder / 'search').iterdir()
  }


def _validation(folder: str, name: str, rate: str) -> tuple[float, float]:
  """Loss and accuracy on the validation images."""
  (rows,) = read_runs(
    f'{folder}/search', f'{name}_learning_rate{rate}_validation'
  ).values()
  return float(rows[-1]['validation/loss']), float(
    rows[-1]['validation/accuracy']
  )


def _search(folder: str) -> Iterator[str]:
  rows = []
  for name in sorted(_searched(folder)):
    found = [_validation(folder, name, rate) for rate in _RATES]
    cells = [f'{loss:.3f} ({accuracy:.0%})' for loss, accuracy in found]
    best = found.index(min(found))
    cells[best] = f'**{cells[best]}**'
    rows.append([f'`{name}`', *cells])
  return _table([['validation loss (accuracy)', *_RATES], *rows])


def _rounds(folder: str) -> Iterator[str]:
  names = _names(folder)
  runs = [read_runs(folder, name)['0'] for name in names]
  rows = []
  for k, row in enumerate(runs[0]):
    if k <= 10 or k % 2 == 0 or row is runs[0][-1]:
      share, right = (
        f'{float(row[column]):.1%}' if row.get(column) else ''
        for column in ('client/label_ratio', 'client/micro_threshold_accuracy')
      )
      accuracies = [f'{float(each[k]["test/accuracy"]):.1%}' for each in runs]
      rows.append(
        [
          row['round'],
          *accuracies,
          share,
          right,
          f'{float(row["seconds"]):.0f}',
        ]
      )
  heading = ['round', *(_NAMES[name] for name in names)]
  return _table([[*heading, 'trained on', 'right of these', 'seconds'], *rows])


def _tuned(folder: str) -> Iterator[str]:
  for table in digits_table.tables(digits_table.read_runs(RESULTS / folder)):
    yield table
    yield ''


_KINDS: dict[str, Callable[[str], Iterator[str]]] = {
  'runs': _runs,
  'periods': _periods,
  'chosen': _chosen,
  'search': _search,
  'rounds': _rounds,
  'tuned': _tuned,
}


def main(argv: Sequence[str]) -> None:
  """Rewrites the pages."""
  del argv
  for path in sorted(RESULTS.glob('*.md')):
    page = path.read_text()
    if (filled := fill_in(page)) != page:
      path.write_text(filled)
      print(f'rewrote {path}')


if __name__ == '__main__':
  app.run(main)
