# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy of client priors on features, beside labels alone.

A linear model on the pixels of digits, for 20 clients:

  python -m benchmarks.client_priors_table --seeds=0,1,2 \
    --table_file=results/client_priors.csv

A row of the file is one run; existing rows are not run again.
"""

import csv
import pathlib
import tempfile

from absl import app
from absl import flags
import numpy as np

import tff_semifl as sfl

_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds, of partition too.')
_LABELS = flags.DEFINE_list('labels', ['10', '20', '50'], 'Numbers of labels.')
_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.', required=True
)
_NUM_CLIENTS = 20
_PARTITIONS = {
  'classes2': {'partition': 'classes', 'classes_per_client': 2},
  'dirichlet0.1': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'dirichlet0.5': {'partition': 'dirichlet', 'dirichlet_concentration': 0.5},
  'iid': {'partition': 'iid'},
}
_COLUMNS = ('labels', 'partition', 'seed', 'labels_alone', 'client_priors')


def _run(num_labeled: int, partition: str, seed: int) -> tuple[float, float]:
  """The test accuracy after round 0 and after the last round."""
  with tempfile.TemporaryDirectory() as folder:
    experiment = sfl.create_experiment(
      'client_priors',
      sfl.TASKS['digits'],
      num_labeled=num_labeled,
      num_clients=_NUM_CLIENTS,
      seed=seed,
      output_dir=folder,
      tensorboard=False,
      # Round 0 and the last.
      rounds_per_evaluation=1000,
      **_PARTITIONS[partition],
    )
    opened = sfl.open_folder(experiment)
    with sfl.simulation_context():
      sfl.run(experiment, opened, quiet=True)
    with opened.metrics_path.open() as file:
      rows = list(csv.DictReader(file))
  accuracies = [float(row['test/accuracy']) for row in rows]
  return accuracies[0], accuracies[-1]


def main(argv: list[str]) -> None:
  """Runs what the file lacks, and prints means."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  path.parent.mkdir(parents=True, exist_ok=True)
  done = []
  if path.exists():
    with path.open() as file:
      done = [tuple(row.values()) for row in csv.DictReader(file)]
  else:
    path.write_text(','.join(_COLUMNS) + '\n')
  for seed in _SEEDS.value:
    for labels in _LABELS.value:
      for partition in _PARTITIONS:
        if (labels, partition, seed) in {row[:3] for row in done}:
          continue
        alone, ours = _run(int(labels), partition, int(seed))
        row = (labels, partition, seed, f'{alone:.4f}', f'{ours:.4f}')
        with path.open('a') as file:
          file.write(','.join(row) + '\n')
        done.append(row)
        print(*row, flush=True)
  for labels in _LABELS.value:
    for partition in _PARTITIONS:
      found = np.array(
        [row[3:] for row in done if row[:2] == (labels, partition)], float
      )
      error = found.std(axis=0, ddof=1) / len(found) ** 0.5
      print(
        f'{labels} labels, {partition}, {len(found)} seeds: labels alone'
        f' {found[:, 0].mean():.1%} ± {error[0]:.1%}, client priors'
        f' {found[:, 1].mean():.1%} ± {error[1]:.1%}, least gain'
        f' {(found[:, 1] - found[:, 0]).min():+.1%}'
      )


if __name__ == '__main__':
  app.run(main)
