# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Compares `client_priors` with published methods, on the same features.

Pixels of digits, and features files:

  python -m benchmarks.unlabeled_baselines \
    --data=digits,cifar10.npz,fashion_mnist.npz --folder=results/baselines

Each row of `runs.csv` is one method on one data set, partition and seed. The
settings of a method are tuned for each data set, on all partitions together,
with seeds 20 to 22, for the largest mean of both accuracies in `tuning.csv`:
on test images, and on clients' images. `client_priors`, the system of this
package, is not tuned. `benchmarks.unlabeled_figure` summarizes the files.
"""

import csv
import functools
import itertools
import json
import pathlib
import time
from typing import Any

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import baseline_methods
from benchmarks import client_priors_process
from tasks import features
import tff_semifl as sfl
from tff_semifl.algorithms.client_priors import components
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.experiment import federated_data
from tff_semifl.label_shift import share_prior

OURS = 'client_priors'
# From few classes per client to all classes, as named in a figure.
PARTITIONS = {
  'classes2': '2 classes',
  'dirichlet0.1': 'Dirichlet(0.1)',
  'classes5': '5 classes',
  'dirichlet0.5': 'Dirichlet(0.5)',
  'iid': 'alike',
}
_RUN_COLUMNS = ('data', 'partition', 'seed', 'method', 'test', 'own', 'seconds')
_TUNING_COLUMNS = ('data', 'method', 'settings', 'test', 'own')
_TUNING_SEEDS = (20, 22, 21, 20, 21)
_NAMES = [*baseline_methods.METHODS, OURS]
_METHODS = flags.DEFINE_list('methods', _NAMES, 'Methods.')
_DATA = flags.DEFINE_list('data', ['digits'], 'digits, or features files.')
_PARTITION = flags.DEFINE_list('partition', [*PARTITIONS], 'Partitions.')
_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2', '3', '4'], 'Seeds.')
_FOLDER = flags.DEFINE_string('folder', None, 'Folder of the CSV files.')
_fit = tf.function(server_labels.fit)


def read(path: pathlib.Path) -> list[dict[str, str]]:
  """The rows of a CSV file; none if there is no file."""
  if not path.exists():
    return []
  with path.open() as file:
    return list(csv.DictReader(file))


def _append(path: pathlib.Path, columns: tuple[str, ...], *row: Any) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  is_new = not path.exists()
  with path.open('a', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerows([columns, row] if is_new else [row])
  print(*row, flush=True)


@functools.lru_cache(maxsize=1)
def _create_task(data: str):
  if data == 'digits':
    return client_priors_process.create_digits()
  return features.Features(features_file=data)


def load(data: str, partition: str, seed: int) -> federated_data.FederatedData:
  """Loads digits (20 labels, 20 clients) or a file (40 labels, 100 clients)."""
  labels, clients = (20, 20) if data == 'digits' else (40, 100)
  changes = {'num_labeled': labels, 'num_clients': clients, 'seed': seed}
  changes |= client_priors_process.PARTITIONS[partition]
  loaded = client_priors_process.load(_create_task(data), changes)
  return loaded._replace(
    shares=[share for share in loaded.shares if len(share)]
  )


@functools.cache
def create_problem(
  data: str, partition: str, seed: int
) -> baseline_methods.Problem:
  """The principal components and the regression that `client_priors` uses."""
  loaded = load(data, partition, seed)
  order = np.concatenate(loaded.shares)
  pool = loaded.unlabeled.images[order]
  targets = np.eye(loaded.labeled.labels.max() + 1)[loaded.labeled.labels]
  x = tf.constant(loaded.labeled.images, tf.float64)
  fitted = _fit(x, tf.constant(targets))
  center = tf.reduce_mean(x, axis=0)
  found = components.find(
    components.measure(tf.constant(pool), tf.cast(center, tf.float32)),
    center,
    server_labels.varies(x),
    fitted.standardizes,
  )
  weights = fitted.weights[0].numpy()
  kinds = loaded.labeled.images, pool, loaded.test.images
  labeled, unlabeled, test = (
    components.project(tf.constant(each), found).numpy().astype(np.float32)
    for each in kinds
  )
  label_logits, logits, test_logits = (
    (each @ weights[:-1] + weights[-1]).astype(np.float32) for each in kinds
  )
  return baseline_methods.Problem(
    x=labeled,
    targets=targets,
    unlabeled=unlabeled,
    owner=np.repeat(range(len(loaded.shares)), [*map(len, loaded.shares)]),
    classes=loaded.unlabeled.true_labels[order],
    test=test,
    test_classes=loaded.test.labels,
    logits=logits,
    label_logits=label_logits,
    test_logits=test_logits,
    penalty=float(server_steps.head_penalty(found.count)),
  )


def measure(
  problem: baseline_methods.Problem, method: str, chosen: dict[str, Any]
) -> list[float]:
  """Accuracy on test images, accuracy on clients' images, and seconds."""
  start = time.perf_counter()
  found = baseline_methods.METHODS[method].run(problem, **chosen)
  seconds = time.perf_counter() - start
  return [
    float(np.mean(found.test.argmax(axis=1) == problem.test_classes)),
    float(np.mean(found.own.argmax(axis=1) == problem.classes)),
    seconds,
  ]


_build = functools.lru_cache(maxsize=1)(client_priors_process.build)


def measure_ours(data: str, partition: str, seed: int) -> list[float]:
  """Like `measure`, for `client_priors` with class shares of each client."""
  loaded = load(data, partition, seed)
  counts = np.bincount(loaded.labeled.labels)
  process = _build(loaded.test.images.shape[1:], len(counts))
  start = time.perf_counter()
  _, output = client_priors_process.measure(process, loaded, loaded.shares)
  kernel, bias = output.state.global_model_weights.trainable
  own = [
    (loaded.unlabeled.images[share] @ kernel + bias).astype(np.float32)
    for share in loaded.shares
  ]
  prior = share_prior.find_share_prior(own, counts / counts.sum())

  @tf.function(input_signature=[tf.TensorSpec([None, len(counts)])])
  def adapt(logits: tf.Tensor) -> tf.Tensor:
    found = share_prior.estimate_site_shares(logits, prior)
    return share_prior.adapt_logits(logits, found.shares, prior)

  adapted = np.concatenate([adapt(each).numpy() for each in own])
  seconds = time.perf_counter() - start
  truth = loaded.unlabeled.true_labels[np.concatenate(loaded.shares)]
  test = loaded.test.images @ kernel + bias
  return [
    float(np.mean(test.argmax(axis=1) == loaded.test.labels)),
    float(np.mean(adapted.argmax(axis=1) == truth)),
    seconds,
  ]


def tune(path: pathlib.Path, data: str, method: str) -> dict[str, Any]:
  """Tries the settings of a method that `path` lacks; returns the best."""
  name = pathlib.Path(data).stem

  def find_tried() -> dict[str, float]:
    return {
      row['settings']: float(row['test']) + float(row['own'])
      for row in read(path)
      if (row['data'], row['method']) == (name, method)
    }

  tried = find_tried()
  for chosen in baseline_methods.METHODS[method].settings:
    if json.dumps(chosen) not in tried:
      accuracies = [
        measure(create_problem(data, partition, seed), method, chosen)[:2]
        for partition, seed in zip(PARTITIONS, _TUNING_SEEDS, strict=True)
      ]
      mean = [f'{each:.4f}' for each in np.mean(accuracies, axis=0)]
      _append(path, _TUNING_COLUMNS, name, method, json.dumps(chosen), *mean)
  tried = find_tried()
  return json.loads(max(tried, key=tried.__getitem__))


def main(argv: list[str]) -> None:
  """Adds the missing runs to the files."""
  del argv
  for flag, known in ((_METHODS, _NAMES), (_PARTITION, PARTITIONS)):
    for value in flag.value:
      if value not in known:
        raise app.UsageError(
          f'--{flag.name}: there is no {value}; there are {", ".join(known)}'
        )
  folder = pathlib.Path(_FOLDER.value)
  path = folder / 'runs.csv'
  done = {tuple(row[each] for each in _RUN_COLUMNS[:4]) for row in read(path)}
  with sfl.simulation_context():
    for data, method, seed, partition in itertools.product(
      _DATA.value, _METHODS.value, _SEEDS.value, _PARTITION.value
    ):
      key = pathlib.Path(data).stem, partition, seed, method
      if key in done:
        continue
      if method == OURS:
        numbers = measure_ours(data, partition, int(seed))
      else:
        chosen = tune(folder / 'tuning.csv', data, method)
        problem = create_problem(data, partition, int(seed))
        numbers = measure(problem, method, chosen)
      row = [*(f'{each:.4f}' for each in numbers[:2]), f'{numbers[2]:.2f}']
      _append(path, _RUN_COLUMNS, *key, *row)


if __name__ == '__main__':
  flags.mark_flag_as_required(_FOLDER.name)
  app.run(main)
