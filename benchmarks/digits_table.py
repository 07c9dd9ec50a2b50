# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A comparison of methods on digits, with learning rates tuned on other seeds.

  python -m benchmarks.digits_table --table_dir=results/digits_table

Each method uses the learning rate in `_RATES` with the highest mean test
accuracy after the last round, over seeds 0 and 1. The tables report seeds 20
to 27. Each run is a row of `runs<share>.csv` in the folder. The same command
resumes after an interrupt. Several processes can divide the runs by --share.
"""

from collections.abc import Iterable, Iterator, Sequence
import csv
import math
import pathlib
import statistics
import time
from typing import Any, NamedTuple
import zlib

from absl import app
from absl import flags
import tensorflow as tf

import tff_semifl as sfl

_TABLE_DIR = flags.DEFINE_string('table_dir', None, 'The folder of the runs.')
_SHARE = flags.DEFINE_list(
  'share', ['0', '1'], 'Which of how many processes this is, counted from 0.'
)

_CHOICE_SEEDS, _REPORTED_SEEDS = range(2), range(20, 28)
_RATES = (0.1, 0.3)
_NUM_LABELS = (20, 50)
_PARTITIONS = {
  'two classes': {'partition': 'classes', 'classes_per_client': 2},
  'Dirichlet(0.1)': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'IID': {'partition': 'iid'},
}
_CLIENTS = {
  'num_clients': 10,
  'clients_per_round': 5,
  'client_epochs': 3,
  'client_batch_size': 16,
}
_SERVER = {'total_rounds': 30, 'server_epochs': 2, 'server_batch_size': 10}
_THRESHOLD = {'confidence_threshold': 0.9}


class Method(NamedTuple):
  """A row of the tables.

  Attributes:
    name: The name in the tables.
    system: The name of the system.
    settings: Settings in addition to those of labels and partition.
    rates: The learning rates to choose from.
    has_clients: Whether results depend on the partition.
    has_few_labels: Whether results depend on the number of labels.
  """

  name: str
  system: str
  settings: dict[str, Any]
  rates: tuple[float, ...] = _RATES
  has_clients: bool = True
  has_few_labels: bool = True


METHODS = (
  Method(
    'labels alone',
    'semifl',
    {**_CLIENTS, **_SERVER, **_THRESHOLD, 'clients_per_round': 0},
    has_clients=False,
  ),
  Method('SemiFL', 'semifl', {**_CLIENTS, **_SERVER, **_THRESHOLD}, (0.1,)),
  Method('SemiFL, tuned', 'semifl', {**_CLIENTS, **_SERVER, **_THRESHOLD}),
  Method('(FL)²', 'flfl', {**_CLIENTS, **_SERVER}),
  Method(
    'client priors',
    'client_prior_semifl',
    {**_CLIENTS, **_SERVER, **_THRESHOLD},
  ),
  Method(
    'all labels in one place',
    'all_labels',
    {'total_epochs': 11, 'server_batch_size': 50},
    has_clients=False,
    has_few_labels=False,
  ),
)


class Run(NamedTuple):
  """A run, as a row of `runs<share>.csv`."""

  system: str
  num_clients: str
  labels: str
  partition: str
  learning_rate: str
  seed: str
  last: str = ''
  best: str = ''

  @property
  def key(self) -> tuple[str, ...]:
    """All fields except the accuracies; they identify the run."""
    return self[:-2]


def describe_run(
  method: Method, num_labels: int, partition: str, rate: float, seed: int
) -> Run:
  """A run before training, without accuracies."""
  return Run(
    method.system,
    str(method.settings.get('clients_per_round', 0)),
    str(num_labels) if method.has_few_labels else '',
    partition if method.has_clients else '',
    str(rate),
    str(seed),
  )


def train(method: Method, run: Run, folder: pathlib.Path) -> Run:
  """Trains in a folder, and returns the run with its accuracies."""
  settings = dict(method.settings)
  if run.labels:
    settings['num_labeled'] = int(run.labels)
  if method.has_clients or method.has_few_labels:
    settings |= _PARTITIONS[run.partition or 'IID']
  experiment = sfl.create_experiment(
    run.system,
    sfl.TASKS['digits'],
    learning_rate=float(run.learning_rate),
    seed=int(run.seed),
    output_dir=str(folder),
    experiment_name='_'.join(filter(None, run.key)).replace(' ', '_'),
    **settings,
  )
  final = sfl.run(experiment, sfl.open_folder(experiment), quiet=True)
  return run._replace(last=str(final.accuracy), best=str(final.best_accuracy))


def read_runs(path: pathlib.Path) -> dict[tuple[str, ...], Run]:
  """Reads the runs of all files in a folder, by key."""
  rows = []
  for each in sorted(path.glob('runs*.csv')):
    with each.open(newline='') as file:
      rows.extend(Run(**row) for row in csv.DictReader(file))
  return {run.key: run for run in rows}


def choose_rate(
  method: Method,
  num_labels: int,
  partition: str,
  runs: dict[tuple[str, ...], Run],
) -> float:
  """The learning rate with the highest mean accuracy on the tuning seeds."""

  def mean(rate: float) -> float:
    return statistics.fmean(
      float(
        runs[describe_run(method, num_labels, partition, rate, seed).key].last
      )
      for seed in _CHOICE_SEEDS
    )

  return (
    method.rates[0] if len(method.rates) == 1 else max(method.rates, key=mean)
  )


def _header(title: str, columns: Iterable[str]) -> list[str]:
  """The first two lines of a table."""
  titles = [title, *columns]
  return [f'| {" | ".join(titles)} |', '| --- ' * len(titles) + '|']


def cells() -> Iterator[tuple[Method, int, str]]:
  """Yields the cells of the tables: method, labels and partition."""
  for num_labels in _NUM_LABELS:
    for partition in _PARTITIONS:
      for method in METHODS:
        yield method, num_labels, partition


def missing_runs(
  runs: dict[tuple[str, ...], Run],
) -> list[tuple[Method, Run]]:
  """The runs to train next: first the runs for tuning, seed by seed."""
  found = {}

  def ask_for(method: Method, run: Run) -> None:
    if run.key not in runs:
      found.setdefault(run.key, (method, run))

  for seed in _CHOICE_SEEDS:
    for method, num_labels, partition in cells():
      for rate in method.rates if len(method.rates) > 1 else ():
        ask_for(method, describe_run(method, num_labels, partition, rate, seed))
  if found:
    return list(found.values())
  for seed in _REPORTED_SEEDS:
    for method, num_labels, partition in cells():
      rate = choose_rate(method, num_labels, partition, runs)
      ask_for(method, describe_run(method, num_labels, partition, rate, seed))
  return list(found.values())


def to_markdown(
  runs: dict[tuple[str, ...], Run], num_labels: int, column: str
) -> str:
  """A table of mean, standard deviation, and difference to the labels alone.

  `column` is the accuracy: of the `last` or of the `best` round.
  """

  def read(method: Method, partition: str) -> list[float]:
    return _read_accuracies(method, num_labels, partition, runs, column)

  lines = _header(f'{num_labels} labels, {column} round', _PARTITIONS)
  for method in METHODS:
    shown = []
    for partition in _PARTITIONS:
      values, alone = read(method, partition), read(METHODS[0], partition)
      cell = f'{statistics.fmean(values):.1f} ({statistics.stdev(values):.1f})'
      if method is not METHODS[0]:
        cell += f', {_show_difference(values, alone)}'
      shown.append(cell)
    lines.append(f'| {method.name} | {" | ".join(shown)} |')
  return '\n'.join(lines)


def summarize(runs: dict[tuple[str, ...], Run]) -> str:
  """A table of mean accuracies, after the last round and in the best round."""
  columns = [(n, p) for n in _NUM_LABELS for p in _PARTITIONS]
  lines = _header('last (best)', (f'{n} labels, {p}' for n, p in columns))
  for method in METHODS:
    cells = (
      '{:.1f}% ({:.1f}%)'.format(
        *(
          statistics.fmean(_read_accuracies(method, *each, runs, column))
          for column in ('last', 'best')
        )
      )
      for each in columns
    )
    lines.append(f'| {method.name} | {" | ".join(cells)} |')
  return '\n'.join(lines)


def _read_accuracies(
  method: Method,
  num_labels: int,
  partition: str,
  runs: dict[tuple[str, ...], Run],
  column: str,
) -> list[float]:
  """The accuracies of the reported seeds, in percent."""
  rate = choose_rate(method, num_labels, partition, runs)
  keys = (
    describe_run(method, num_labels, partition, rate, seed).key
    for seed in _REPORTED_SEEDS
  )
  return [100 * float(getattr(runs[key], column)) for key in keys]


def show_rates(runs: dict[tuple[str, ...], Run]) -> str:
  """A table of the chosen learning rates."""
  columns = [(n, p) for n in _NUM_LABELS for p in _PARTITIONS]
  lines = _header('rate', (f'{n} labels, {p}' for n, p in columns))
  for method in METHODS:
    rates = (str(choose_rate(method, *each, runs)) for each in columns)
    lines.append(f'| {method.name} | {" | ".join(rates)} |')
  return '\n'.join(lines)


def _show_difference(values: Sequence[float], others: Iterable[float]) -> str:
  """The mean paired difference and its standard error."""
  differences = [a - b for a, b in zip(values, others, strict=True)]
  error = statistics.stdev(differences) / math.sqrt(len(differences))
  return f'{statistics.fmean(differences):+.1f} ± {error:.1f}'


def tables(runs: dict[tuple[str, ...], Run]) -> list[str]:
  """All tables, in Markdown."""
  return [
    summarize(runs),
    *(
      to_markdown(runs, num_labels, column)
      for num_labels in _NUM_LABELS
      for column in ('last', 'best')
    ),
    show_rates(runs),
  ]


def main(argv: Sequence[str]) -> None:
  """Trains the missing runs, and prints the tables."""
  if len(argv) > 1:
    raise app.UsageError(f'Found {argv[1]!r}; there are only flags.')
  tf.config.threading.set_intra_op_parallelism_threads(1)
  folder = pathlib.Path(_TABLE_DIR.value)
  folder.mkdir(parents=True, exist_ok=True)
  share, num_shares = map(int, _SHARE.value)
  path = folder / f'runs{share}.csv'
  with sfl.simulation_context(max_concurrent_clients=1):
    while missing := missing_runs(read_runs(folder)):
      own = (
        each
        for each in missing
        if zlib.crc32(repr(each[1].key).encode()) % num_shares == share
      )
      method, run = next(own, (None, None))
      if run is None:
        # Other processes are training runs on which the next runs depend.
        time.sleep(10)
        continue
      is_new = not path.exists()
      run = train(method, run, folder)
      with path.open('a', newline='') as file:
        writer = csv.writer(file)
        if is_new:
          writer.writerow(Run._fields)
        writer.writerow(run)
  runs = read_runs(folder)
  print('\n\n'.join(tables(runs)))


if __name__ == '__main__':
  flags.mark_flag_as_required('table_dir')
  app.run(main)
