# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Accuracy of `client_priors`, compared with the labels alone and all labels.

The pixels of digits, for 20 clients:

  python -m benchmarks.client_priors_table --seeds=0,1,2 \
    --table_file=results/client_priors.csv

A features file, for 100 clients; --skew=5 keeps one in five of the clients'
examples of the first five classes:

  python -m benchmarks.client_priors_table --features_file=cifar10.npz \
    --num_clients=100 --labels=40 --skew=5 --table_file=results/cifar10.csv

Each row of the table is one run of the TFF process. Runs in the table are not
repeated. All runs share one process, which is traced once.
"""

from collections.abc import Iterator
import itertools
import pathlib
import tempfile
from typing import Any

from absl import app
from absl import flags
import numpy as np

from benchmarks import client_priors_process
from benchmarks import client_priors_summaries
from tasks import features
import tff_semifl as sfl
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import image_task
from tff_semifl.metrics import metric

_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds, of partition too.')
_LABELS = flags.DEFINE_list('labels', ['10', '20', '50'], 'Numbers of labels.')
_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.'
)
_FEATURES_FILE = flags.DEFINE_string(
  'features_file', None, 'Features to use in place of the pixels of digits.'
)
_NUM_CLIENTS = flags.DEFINE_integer('num_clients', 20, 'Number of clients.')
_PARTITION = flags.DEFINE_list(
  'partition', ['classes2', 'dirichlet0.1', 'dirichlet0.5', 'iid'], 'Which.'
)
_SKEW = flags.DEFINE_integer(
  'skew', 1, 'Clients keep one in so many examples of the first five classes.'
)
_KEEP = flags.DEFINE_enum(
  'keep',
  choice.CHOSEN,
  [choice.CHOSEN, *choice.CANDIDATES],
  'The classifier to keep.',
)
_SEMIFL = flags.DEFINE_bool(
  'semifl', False, 'Whether to train SemiFL, too, with as many rounds.'
)
_ALL_LABELS = flags.DEFINE_bool(
  'all_labels', True, 'Whether to fit all labels in one place, too.'
)
_ROUNDS = server_steps.PASSES
_KEY = ('skew', 'labels', 'partition', 'seed')
_RESULTS = (
  'labels_alone',
  'client_priors',
  'semifl',
  'all_labels',
  'kept',
  'ece_labels_alone',
  'ece',
)


def thin_out(data: federated_data.FederatedData, skew: int) -> list[np.ndarray]:
  """The partition, with one in `skew` examples of the first half of classes."""
  labels = data.unlabeled.true_labels
  is_kept = labels > labels.max() // 2
  for label in range(labels.max() // 2 + 1):
    is_kept[np.flatnonzero(labels == label)[::skew]] = True
  return [share[is_kept[share]] for share in data.shares]


def measure_all_labels(
  process: client_priors_process.Process,
  data: federated_data.FederatedData,
) -> float:
  """The test accuracy of a regression on all labels in one place."""
  pool = sources.LabeledImages(*data.unlabeled)
  everything = sources.LabeledImages(
    *map(np.concatenate, zip(data.labeled, pool, strict=True))
  )
  server = pipelines.labeled_dataset(everything)
  state = process.next(process.initialize(), server, []).state
  return _test(state, data.test)


def _logits(state: Any, test: sources.LabeledImages) -> np.ndarray:
  kernel, bias = state.global_model_weights.trainable
  return test.images @ kernel + bias


def _test(state: Any, test: sources.LabeledImages) -> float:
  return float(np.mean(np.argmax(_logits(state, test), axis=1) == test.labels))


def _calibration(state: Any, test: sources.LabeledImages) -> float:
  return metric.ece(test.labels, _logits(state, test))


def train_semifl(task: image_task.Task, changes: dict[str, Any]) -> float:
  """The last test accuracy of SemiFL, trained on the same feature vectors."""
  with tempfile.TemporaryDirectory() as folder:
    experiment = sfl.create_experiment(
      'semifl',
      task,
      output_dir=folder,
      tensorboard=False,
      rounds_per_evaluation=1000,
      clients_per_round=changes['num_clients'],
      total_rounds=_ROUNDS,
      learning_rate=0.1,
      confidence_threshold=0.9,
      server_epochs=2,
      server_batch_size=10,
      client_epochs=1,
      client_batch_size=16,
      **changes,
    )
    opened = sfl.open_folder(experiment)
    return float(sfl.run(experiment, opened, quiet=True).accuracy)


def run_cells(task: image_task.Task) -> Iterator[list[str]]:
  """Measures the settings that the table lacks, and yields their rows."""
  process = all_labels = None
  for seed, labels, partition in itertools.product(
    _SEEDS.value, _LABELS.value, _PARTITION.value
  ):
    key = (str(_SKEW.value), labels, partition, seed)
    if key in {
      tuple(row[: len(_KEY)])
      for row in client_priors_summaries.read_rows(
        pathlib.Path(_TABLE_FILE.value)
      )
    }:
      continue
    changes = {
      'num_clients': _NUM_CLIENTS.value,
      'num_labeled': int(labels),
      'seed': int(seed),
      **client_priors_process.PARTITIONS[partition],
    }
    data = client_priors_process.load(task, changes)
    if process is None:
      num_classes = data.labeled.labels.max() + 1
      process = client_priors_process.build(
        data.labeled.images.shape[1:], num_classes, _KEEP.value
      )
      # All seeds have the same server labels and unlabeled images.
      all_labels = ''
      if _ALL_LABELS.value:
        all_labels = f'{measure_all_labels(process, data):.4f}'
    shares = thin_out(data, _SKEW.value)
    alone, ours = client_priors_process.measure(process, data, shares)
    states = (alone, ours.state)
    tests = [f'{_test(state, data.test):.4f}' for state in states]
    errors = [f'{_calibration(state, data.test):.4f}' for state in states]
    kept = choice.CANDIDATES[int(ours.metrics['client']['kept'])]
    semifl = ''
    if _SEMIFL.value:
      semifl = f'{train_semifl(task, changes):.4f}'
    yield [*key, *tests, semifl, all_labels, kept, *errors]


def main(argv: list[str]) -> None:
  """Adds the missing rows to the table, and prints means over seeds."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  path.parent.mkdir(parents=True, exist_ok=True)
  task = client_priors_process.create_digits()
  if _FEATURES_FILE.value:
    task = features.Features(features_file=_FEATURES_FILE.value)
  if not path.exists():
    path.write_text(','.join((*_KEY, *_RESULTS)) + '\n')
  with sfl.simulation_context():
    for row in run_cells(task):
      with path.open('a') as file:
        file.write(','.join(row) + '\n')
      print(*row, flush=True)
  print(
    '\n'.join(
      client_priors_summaries.summarize_cells(
        client_priors_summaries.read_rows(path)
      )
    )
  )


if __name__ == '__main__':
  flags.mark_flag_as_required(_TABLE_FILE.name)
  app.run(main)
