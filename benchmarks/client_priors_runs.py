# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Accuracy of `client_priors` where its assumptions hold and where they fail.

Inputs come from `benchmarks.client_priors_inputs`, or are features files:

  python -m benchmarks.client_priors_runs --seeds=0,1,2 \
    --table_file=results/inputs.csv
  python -m benchmarks.client_priors_runs --features_files=a.npz,b.npz \
    --table_file=results/cases.csv

Each row of the table is one run of the TFF process. Runs in the table are not
repeated. At the end the program prints means over seeds.
"""

from collections.abc import Iterator
import functools
import pathlib
from typing import Any, NamedTuple

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import client_priors_inputs
from benchmarks import client_priors_summaries
import tff_semifl as sfl
from tff_semifl.algorithms import system
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import client_priors
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.augment import augmentation
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.metrics import metric
from tff_semifl.models import features
from tff_semifl.models import functional

_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds of the inputs.')
_KINDS = flags.DEFINE_list('kinds', None, 'Kinds of inputs, all by default.')
_FEATURES_FILES = flags.DEFINE_list(
  'features_files', None, 'Features files in place of these inputs.'
)
_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.'
)
COLUMNS = (
  'labels_alone',
  'exported',
  'kept',
  'spread',
  'ece_labels_alone',
  'ece_exported',
  'held_out',
  *(f'right_{name}' for name in choice.CANDIDATES),
)


class Run(NamedTuple):
  """The result of a run.

  Attributes:
    alone: float32 [tests, classes], test logits of the regression on the
      labels.
    exported: float32 [tests, classes], test logits of the exported classifier.
    metrics: The metrics of clients in the last round.
  """

  alone: np.ndarray
  exported: np.ndarray
  metrics: Any


@functools.cache
def build(
  mean: tuple[float, ...],
  deviation: tuple[float, ...],
  num_classes: int,
  keep: str = choice.CHOSEN,
) -> tuple[functional.ImageClassifier, federated_process.FederatedProcess]:
  """Builds model and process for features with this mean and deviation."""
  classifier = functional.from_keras(
    features.create_linear(
      (len(mean),), num_classes, mean=mean, standard_deviation=deviation
    )
  )
  return classifier, client_priors.ClientPriors(keep=keep).build(
    system.Ingredients(
      classifier=classifier,
      weak_augmentation=augmentation.keep,
      strong_augmentation=augmentation.keep,
    )
  )


def run(
  made: client_priors_inputs.Input,
  *,
  standardizes: bool = False,
  keep: str = choice.CHOSEN,
) -> Run:
  """Runs `client_priors` to the end.

  Args:
    made: The input.
    standardizes: Whether the model standardizes features with the mean and
      deviation of the labeled examples, as in an experiment. If not, the
      process is traced once for all inputs of the same size.
    keep: As for `ClientPriors`.
  """
  size = made.features.shape[1]
  mean, deviation = np.zeros(size), np.ones(size)
  if standardizes:
    mean = made.features.mean(axis=0)
    deviation = made.features.std(axis=0)
    deviation = np.where(deviation > 1e-9, deviation, 1)
  classifier, process = build(
    tuple(mean),
    tuple(deviation),
    int(max(made.labels.max(), made.test_labels.max())) + 1,
    keep,
  )
  server = pipelines.labeled_dataset(
    sources.LabeledImages(
      made.features.astype(np.float32), made.labels.astype(np.int32)
    )
  )
  clients = [
    tf.data.Dataset.from_tensors(
      dict(
        client_id=np.int32(client),
        image=made.client_features[made.client_ids == client].astype(
          np.float32
        ),
      )
    )
    for client in np.unique(made.client_ids)
  ]
  test = made.test_features.astype(np.float32)
  output = process.next(process.initialize(), server, [])
  alone = classifier.logits(output.state.global_model_weights, test).numpy()
  state = process.preparations[0](output.state, server, clients)
  for _ in range(server_steps.PASSES):
    output = process.next(state, server, clients)
    state = output.state
  return Run(
    alone,
    classifier.logits(state.global_model_weights, test).numpy(),
    output.metrics['client'],
  )


def load(path: str) -> client_priors_inputs.Input:
  """Loads a features file with test examples."""
  arrays = np.load(path)
  classes, labels = np.unique(arrays['labels'], return_inverse=True)
  ids = np.unique(arrays['client_ids'], return_inverse=True)[1]
  return client_priors_inputs.Input(
    arrays['features'],
    labels,
    arrays['client_features'],
    ids,
    np.full(len(ids), -1),
    arrays['test_features'],
    np.searchsorted(classes, arrays['test_labels']),
  )


def describe(result: Run, labels: np.ndarray) -> list[str]:
  """The cells of `COLUMNS` for a run."""

  def accuracy(logits: np.ndarray) -> str:
    return f'{np.mean(np.argmax(logits, axis=1) == labels):.4f}'

  def error(logits: np.ndarray) -> str:
    return f'{metric.ece(labels, logits):.4f}'

  own = result.metrics
  own = {name: float(value) for name, value in own.get('own', own).items()}
  return [
    accuracy(result.alone),
    accuracy(result.exported),
    choice.CANDIDATES[int(own['kept'])],
    f'{own["spread"]:.4f}',
    error(result.alone),
    error(result.exported),
    f'{own["held_out"]:.0f}',
    *(f'{own[f"right_{name}"]:.0f}' for name in choice.CANDIDATES),
  ]


def run_missing() -> Iterator[list[str]]:
  """Yields the rows of the chosen runs that the table lacks."""
  done = {
    tuple(row[:2])
    for row in client_priors_summaries.read_rows(
      pathlib.Path(_TABLE_FILE.value)
    )
  }
  if _FEATURES_FILES.value:
    for path in _FEATURES_FILES.value:
      name = pathlib.Path(path).stem
      if (name, '') not in done:
        made = load(path)
        yield [
          name,
          '',
          *describe(run(made, standardizes=True), made.test_labels),
        ]
    return
  for name in client_priors_inputs.INPUTS:
    kind = name.partition('/')[0]
    if _KINDS.value and kind not in _KINDS.value:
      continue
    for seed in _SEEDS.value:
      if (name, seed) not in done:
        made = client_priors_inputs.create(name, int(seed))
        found = run(made, standardizes=kind == 'scale')
        yield [name, seed, *describe(found, made.test_labels)]


def main(argv: list[str]) -> None:
  """Adds the missing runs to the table, and prints means over seeds."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  path.parent.mkdir(parents=True, exist_ok=True)
  if not path.exists():
    path.write_text(','.join(('input', 'seed', *COLUMNS)) + '\n')
  with sfl.simulation_context():
    for row in run_missing():
      with path.open('a') as file:
        file.write(','.join(row) + '\n')
      print(*row, flush=True)
  print(
    '\n'.join(
      client_priors_summaries.summarize_inputs(
        client_priors_summaries.read_rows(path)
      )
    )
  )


if __name__ == '__main__':
  flags.mark_flag_as_required(_TABLE_FILE.name)
  app.run(main)
