# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""SemiFL, started from a network of `client_prior_network`.

  python -m benchmarks.alike_clients --table_file=alike.csv
  python -m benchmarks.alike_clients --task=fashion_mnist --labels=40 \
    --num_clients=100 --clients_per_round=10 --model=reddi_emnist_cnn \
    --network_rounds=3000 --seeds=0 --table_file=alike_fashion_mnist.csv

All clients have the same class shares. `client_priors` trains a linear layer,
which labels the clients' images, and a network is trained on these labels. Each
row has the test accuracies of a seed: the regression on the labels alone, the
layer, the network, SemiFL from random weights, and SemiFL from the network.
"""

from collections.abc import Mapping
import pathlib
import tempfile
from typing import Any

from absl import app
from absl import flags
import tensorflow as tf

from benchmarks import client_priors_summaries
import tff_semifl as sfl
from tff_semifl.experiment import metrics_table
from tff_semifl.models import functional

_TABLE_FILE = flags.DEFINE_string(
  'table_file', None, 'CSV file that rows are added to.', required=True
)
_TASK = flags.DEFINE_string('task', 'digits', 'The task.')
_DATA_DIR = flags.DEFINE_string(
  'data_dir', None, 'Folder of TensorFlow Datasets.'
)
_LABELS = flags.DEFINE_integer('labels', 20, 'Number of labels.')
_NUM_CLIENTS = flags.DEFINE_integer('num_clients', 10, 'Number of clients.')
_CLIENTS_PER_ROUND = flags.DEFINE_integer(
  'clients_per_round', 5, 'Clients per round.'
)
_MODEL = flags.DEFINE_string('model', 'wide_resnet', 'The network.')
_NETWORK_ROUNDS = flags.DEFINE_integer(
  'network_rounds', 1000, 'Rounds of `client_prior_network`.'
)
_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2', '3', '4'], 'Seeds.')
_RATE = flags.DEFINE_float('learning_rate', 0.1, 'Learning rate of SemiFL.')
_COLUMNS = (
  'seed',
  'labels_alone',
  'layer',
  'network',
  'semifl',
  'semifl_from_network',
)
_SEMIFL = {
  'client_epochs': 3,
  'client_batch_size': 16,
  'server_epochs': 2,
  'server_batch_size': 10,
  'total_rounds': 30,
  'confidence_threshold': 0.9,
}


def _run(
  system: str, name: str, settings: Mapping[str, Any]
) -> tuple[Any, metrics_table.Metrics, tf.keras.Model]:
  """The final weights and the metrics of a run, and its untrained model."""
  if _DATA_DIR.value:
    settings = {**settings, 'data_dir': _DATA_DIR.value}
  experiment = sfl.create_experiment(
    system,
    sfl.TASKS[_TASK.value],
    experiment_name=name,
    num_labeled=_LABELS.value,
    num_clients=_NUM_CLIENTS.value,
    partition='iid',
    tensorboard=False,
    **settings,
  )
  folder = sfl.open_folder(experiment)
  with sfl.simulation_context():
    result = sfl.run(experiment, folder, quiet=True)
  metrics = metrics_table.read_metrics(folder.metrics_path)
  return result.state.global_model_weights, metrics, experiment.model


def measure(seed: int, output_dir: str) -> list[float]:
  """The accuracies of a seed, in the order of the columns."""
  common = {'seed': seed, 'output_dir': output_dir}
  layer = _run('client_priors', 'layer', common | {'model': 'linear'})[1]
  common['clients_per_round'] = _CLIENTS_PER_ROUND.value
  chosen = {'model': _MODEL.value}
  weights, network, model = _run(
    'client_prior_network',
    'network',
    common | chosen | {'total_rounds': _NETWORK_ROUNDS.value},
  )
  common |= _SEMIFL | {'learning_rate': _RATE.value}
  if _MODEL.value == 'wide_resnet':
    common['normalization'] = 'group'
  alone = _run('semifl', 'semifl', common | chosen)[1]
  functional.find_weights(model).assign(functional.ModelWeights(*weights))
  config, arrays = model.get_config(), model.get_weights()

  def create_trained(shape, num_classes) -> tf.keras.Model:
    del shape, num_classes
    trained = tf.keras.Model.from_config(config)
    trained.set_weights(arrays)
    return trained

  after = _run('semifl', 'after', common | {'model': create_trained})[1]
  last = [each['test/accuracy'][-1] for each in (layer, network, alone, after)]
  return [layer['test/accuracy'][0], *last]


def main(argv: list[str]) -> None:
  """Measures each seed, and adds a row to the table."""
  del argv
  path = pathlib.Path(_TABLE_FILE.value)
  if not path.exists():
    path.write_text(','.join(_COLUMNS) + '\n')
  for seed in _SEEDS.value:
    with tempfile.TemporaryDirectory() as output_dir:
      found = measure(int(seed), output_dir)
    row = ','.join([seed, *(f'{each:.4f}' for each in found)])
    with path.open('a') as file:
      file.write(f'{row}\n')
    print(row, flush=True)
  rows = client_priors_summaries.read_rows(path)
  print('\n'.join(client_priors_summaries.summarize_seeds(rows)))


if __name__ == '__main__':
  app.run(main)
