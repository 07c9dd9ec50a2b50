# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Accuracies of the steps from `client_priors` to `client_prior_network`.

  python -m benchmarks.priors_to_network --data_dir=tensorflow_datasets \
    --seeds=0,1,2,3,4 --table_file=results/network.csv
  python -m benchmarks.priors_to_network --task=digits --labels=20 \
    --num_clients=10 --clients_per_round=5 --total_rounds=1000 \
    --model=wide_resnet --partition=classes --table_file=results/network.csv
  python -m benchmarks.priors_to_network --task=cifar10 --model=wide_resnet \
    --label_features=frozen:efficientnet_lite0 --table_file=results/network.csv

Each row is the test accuracy of one classifier: the regression on the labels
alone and the linear layer, both by `client_priors`; the network of
`client_prior_network`; and the same network with all labels in one place, with
as many steps and images per step. Rows in the table are not repeated; a table
is for one model and number of clients. With --runs_dir, an interrupted run
resumes.
"""

import itertools
import pathlib
import shutil
import tempfile
import time

from absl import app
from absl import flags

from benchmarks import client_priors_summaries
import tff_semifl as sfl
from tff_semifl.experiment import metrics_table

_SIZES = {'digits': 1437, 'fashion_mnist': 60_000, 'cifar10': 50_000}
_TASK = flags.DEFINE_enum('task', 'fashion_mnist', _SIZES, 'The task.')
_DATA_DIR = flags.DEFINE_string('data_dir', None, 'Of TensorFlow Datasets.')
_MODEL = flags.DEFINE_string('model', 'reddi_emnist_cnn', 'The network.')
_LABEL_FEATURES = flags.DEFINE_string(
  'label_features', 'pixels', 'Features of the layer, which labels.'
)
_BACKBONE_SIZE = flags.DEFINE_integer(
  'backbone_size', 128, 'Pixels that the network of these features takes.'
)
_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2', '3', '4'], 'Seeds.')
_LABELS = flags.DEFINE_integer('labels', 40, 'Labels.')
_NUM_CLIENTS = flags.DEFINE_integer('num_clients', 100, 'Number of clients.')
_CLIENTS_PER_ROUND = flags.DEFINE_integer('clients_per_round', 10, 'Cohort.')
_BATCH_SIZE = flags.DEFINE_integer('client_batch_size', 20, 'Batch of each.')
_ROUNDS = flags.DEFINE_integer('total_rounds', 3000, 'Steps of the network.')
_PARTITION = flags.DEFINE_list(
  'partition', ['classes', 'dirichlet0.3', 'dirichlet0.1', 'iid'], 'Which.'
)
_CLASSIFIERS = flags.DEFINE_list(
  'classifiers', ['layer', 'network', 'all_labels'], 'Which.'
)
_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.'
)
_RUNS_DIR = flags.DEFINE_string(
  'runs_dir',
  None,
  'Folder of unfinished runs, by default a temporary one. Seconds of a row are'
  ' then of the last start alone.',
)
_KEY = ('task', 'labels', 'partition', 'seed', 'classifier')
_COLUMNS = (*_KEY, 'accuracy', 'labels_right', 'seconds')


def _run(system: str, folder: pathlib.Path, **settings):
  """The columns of metrics.csv after a run of a system."""
  task = sfl.TASKS[_TASK.value]
  if _DATA_DIR.value:
    settings['data_dir'] = _DATA_DIR.value
  experiment = sfl.create_experiment(
    system,
    task,
    tensorboard=False,
    output_dir=str(folder.parent),
    experiment_name=folder.name,
    **settings,
  )
  opened = sfl.open_folder(experiment)
  with sfl.simulation_context():
    sfl.run(experiment, opened, quiet=True)
  return metrics_table.read_metrics(opened.path / 'metrics.csv')


def measure(
  classifier: str, partition: str, seed: int, folder: pathlib.Path
) -> dict[str, list[float]]:
  """Accuracy, and the fraction of correct client labels, by classifier."""
  if classifier == 'all_labels':
    batch = _CLIENTS_PER_ROUND.value * _BATCH_SIZE.value
    size = _SIZES[_TASK.value]
    metrics = _run(
      'all_labels',
      folder,
      seed=seed,
      model=_MODEL.value,
      # As in `client_prior_network`, for models with a choice of normalization.
      **({'normalization': 'group'} if _MODEL.value == 'wide_resnet' else {}),
      total_epochs=max(round(_ROUNDS.value * batch / size), 1),
      server_batch_size=batch,
    )
    return {classifier: [metrics['test/accuracy'][-1], float('nan')]}
  name, _, concentration = partition.partition('dirichlet')
  settings = {
    'seed': seed,
    'num_labeled': _LABELS.value,
    'num_clients': _NUM_CLIENTS.value,
    'partition': name or 'dirichlet',
    'share_prior': False,
  }
  if concentration:
    settings['dirichlet_concentration'] = float(concentration)
  right = 'client/pseudo_accuracy'
  features = _LABEL_FEATURES.value
  backbone = (
    {} if features == 'pixels' else {'backbone_size': _BACKBONE_SIZE.value}
  )
  if classifier == 'layer':
    model = features if backbone else 'linear'
    metrics = _run('client_priors', folder, model=model, **backbone, **settings)
    accuracies = metrics['test/accuracy']
    return {
      'labels_alone': [accuracies[0], float('nan')],
      classifier: [accuracies[-1], metrics[right][-1]],
    }
  metrics = _run(
    'client_prior_network',
    folder,
    model=_MODEL.value,
    clients_per_round=_CLIENTS_PER_ROUND.value,
    client_batch_size=_BATCH_SIZE.value,
    total_rounds=_ROUNDS.value,
    label_features=features,
    **backbone,
    **settings,
  )
  return {classifier: [metrics['test/accuracy'][-1], metrics[right][-1]]}


def main(argv: list[str]) -> None:
  """Measures the rows that the table lacks, seed by seed."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  path.parent.mkdir(parents=True, exist_ok=True)
  if not path.exists():
    path.write_text(','.join(_COLUMNS) + '\n')
  for seed, partition, classifier in itertools.product(
    _SEEDS.value, _PARTITION.value, _CLASSIFIERS.value
  ):
    where = 'all' if classifier == 'all_labels' else partition
    key = [_TASK.value, str(_LABELS.value), where, seed]
    rows = client_priors_summaries.read_rows(path)
    if [*key, classifier] in [row[: len(_KEY)] for row in rows]:
      continue
    start = time.monotonic()
    name = '_'.join((*key, classifier))
    with tempfile.TemporaryDirectory() as temporary:
      folder = pathlib.Path(_RUNS_DIR.value or temporary, name)
      found = measure(classifier, partition, int(seed), folder)
    seconds = time.monotonic() - start
    for name, numbers in found.items():
      row = [*key, name, *(f'{each:.4f}' for each in numbers), f'{seconds:.0f}']
      with path.open('a') as file:
        file.write(','.join(row) + '\n')
      print(*row, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
  rows = client_priors_summaries.read_rows(path)
  print('\n'.join(client_priors_summaries.summarize_networks(rows)))


if __name__ == '__main__':
  flags.mark_flag_as_required(_TABLE_FILE.name)
  app.run(main)
