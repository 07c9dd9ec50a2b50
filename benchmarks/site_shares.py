# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Accuracy at sites without and with adaptation to each site's class shares.

`client_priors` on a features file, for 100 clients:

  python -m benchmarks.site_shares --features_file=cifar10.npz --labels=40 \
    --num_clients=100 --seeds=0,1,2,3,4 --table_file=results/sites.csv

SemiFL, with a network on digits:

  python -m benchmarks.site_shares --system=semifl --labels=50 \
    --partition=classes --total_rounds=40 --table_file=results/sites.csv

Each row of the table is a training run. Training clients are measured on a
fifth of their images, which are held out from training. The test images,
partitioned in the same way, form new sites. A site's class shares are estimated
from n of its images, and accuracy is measured on the site's other images.
Runs in the table are not repeated.
"""

from collections.abc import Sequence
import itertools
import pathlib
import tempfile

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import client_priors_summaries
from tasks import digits
from tasks import features
import tff_semifl as sfl
from tff_semifl import settings
from tff_semifl.experiment import partitions
from tff_semifl.experiment import site_shares
from tff_semifl.export import tflite
from tff_semifl.label_shift import share_prior
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import metric

_SYSTEM = flags.DEFINE_string('system', 'client_priors', 'The system.')
_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2', '3', '4'], 'Seeds.')
_LABELS = flags.DEFINE_integer('labels', 20, 'Labels.')
_NUM_CLIENTS = flags.DEFINE_integer('num_clients', 20, 'Number of clients.')
_NUM_SITES = flags.DEFINE_integer('num_sites', 20, 'Number of new sites.')
_ROUNDS = flags.DEFINE_integer('total_rounds', None, 'Rounds; or the usual.')
_PARTITION = flags.DEFINE_list(
  'partition', ['classes', 'dirichlet0.1', 'dirichlet0.5', 'iid'], 'Which.'
)
_FEATURES_FILE = flags.DEFINE_string(
  'features_file', None, 'Features to use in place of digits.'
)
_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.'
)
_KEY = ('system', 'task', 'labels', 'partition', 'seed')
_NUMBERS = (1, 3, 10, 30)
_COLUMNS = (
  *_KEY,
  *('global', 'global_worst', 'own', 'own_worst', 'ece', 'ece_own'),
  *('strength', 'temperature', 'evidence'),
  *(f'{each}_{n}' for n in _NUMBERS for each in ('new', 'new_own')),
)


def _spread(accuracies: Sequence[float]) -> list[float]:
  found = client_accuracy.summarize(
    [
      client_accuracy.ClientAccuracy(str(i), each, 1)
      for i, each in enumerate(accuracies)
    ]
  )
  return [found.mean, found.worst_tenth]


class _Model:
  """An exported model, with logarithms of probabilities as its outputs."""

  def __init__(self, path: pathlib.Path):
    self._model = tflite.load(path)
    self.prior = self._model.prior
    num_classes = len(self._model.class_names)
    self._estimate = tf.function(
      lambda logits: share_prior.estimate_site_shares(logits, self.prior),
      input_signature=[tf.TensorSpec([None, num_classes])],
    )

  def read(self, images: np.ndarray) -> np.ndarray:
    """Logits of images, float32 [images, classes]."""
    batches = [
      self._model.predict(np.asarray(images[start : start + 500]))
      for start in range(0, len(images), 500)
    ]
    return share_prior.to_logits(np.concatenate(batches)).numpy()

  def adapt(self, own: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """Logits under the class shares that are estimated from `own`."""
    found = self._estimate(tf.constant(own))
    return share_prior.adapt_logits(logits, found.shares, self.prior).numpy()


def _measure_clients(model: _Model, data) -> list[float]:
  """Accuracies and calibration errors on images held out at clients."""
  own, tested = model.read(data.unlabeled.images), data.client_test
  logits, labels = model.read(tested.pool.images), tested.pool.true_labels
  adapted = logits.copy()
  for share, held_out in zip(data.shares, tested.shares, strict=True):
    if len(held_out):
      adapted[held_out] = model.adapt(own[share], logits[held_out])
  numbers = []
  for each in (logits, adapted):
    is_right = each.argmax(axis=1) == labels
    numbers += _spread([is_right[s].mean() for s in tested.shares if len(s)])
  return numbers + [metric.ece(labels, each) for each in (logits, adapted)]


def _measure_new_sites(model: _Model, data, changes) -> list[float]:
  """Accuracies at sites of test images, by the number of images seen."""
  test = data.test
  logits, labels = model.read(test.images), test.labels
  part = settings.change_present(
    partitions.PARTITIONS[changes['partition']], changes
  )
  try:
    sites = part.split(
      labels, int(labels.max()) + 1, _NUM_SITES.value, changes['seed']
    )
  except ValueError:
    # There are too few test images for sites that differ so much.
    sites = []
  rng = np.random.default_rng(changes['seed'])
  numbers = []
  for n in _NUMBERS:
    right = []
    for site in sites:
      if len(site) < n + 10:
        continue
      order = rng.permutation(site)
      seen, rest = order[:n], order[n:]
      adapted = model.adapt(logits[seen], logits[rest])
      right.append(
        [
          np.mean(each.argmax(axis=1) == labels[rest])
          for each in (logits[rest], adapted)
        ]
      )
    numbers += np.mean(right, axis=0).tolist() if right else [np.nan, np.nan]
  return numbers


def run(partition: str, seed: int, folder: str) -> list[float]:
  """Trains once, and measures the exported model."""
  name, _, concentration = partition.partition('dirichlet')
  changes = {'partition': name or 'dirichlet', 'seed': seed}
  if concentration:
    changes['dirichlet_concentration'] = float(concentration)
  further = {}
  if _ROUNDS.value:
    further['total_rounds'] = _ROUNDS.value
  task = digits.Digits()
  if _FEATURES_FILE.value:
    task = features.Features(features_file=_FEATURES_FILE.value)
  experiment = sfl.create_experiment(
    _SYSTEM.value,
    task,
    num_labeled=_LABELS.value,
    num_clients=_NUM_CLIENTS.value,
    client_test_fraction=0.2,
    tensorboard=False,
    rounds_per_evaluation=1000,
    output_dir=folder,
    **changes,
    **further,
  )
  opened = sfl.open_folder(experiment)
  with sfl.simulation_context():
    sfl.run(experiment, opened, quiet=True)
  model = _Model(opened.export_path)
  prior = site_shares.read(opened.path)
  return [
    *_measure_clients(model, experiment.data),
    *(prior.strength, prior.temperature, prior.evidence),
    *_measure_new_sites(model, experiment.data, changes),
  ]


def main(argv: list[str]) -> None:
  """Adds the missing runs to the table, and prints means over seeds."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  path.parent.mkdir(parents=True, exist_ok=True)
  if not path.exists():
    path.write_text(','.join(_COLUMNS) + '\n')
  task = pathlib.Path(_FEATURES_FILE.value or 'digits').stem
  for partition, seed in itertools.product(_PARTITION.value, _SEEDS.value):
    key = [_SYSTEM.value, task, str(_LABELS.value), partition, seed]
    rows = client_priors_summaries.read_rows(path)
    if key in [row[: len(_KEY)] for row in rows]:
      continue
    with tempfile.TemporaryDirectory() as folder:
      numbers = run(partition, int(seed), folder)
    row = [*key, *(f'{number:.4f}' for number in numbers)]
    with path.open('a') as file:
      file.write(','.join(row) + '\n')
    print(*row, flush=True)
  rows = client_priors_summaries.read_rows(path)
  print('\n'.join(client_priors_summaries.summarize_sites(rows)))


if __name__ == '__main__':
  flags.mark_flag_as_required(_TABLE_FILE.name)
  app.run(main)
