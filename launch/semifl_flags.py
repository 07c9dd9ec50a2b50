# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of SemiFL experiments, but for those of their data."""

import math

from absl import flags

from launch import augmentation_flags
from launch import data_flags

CLIENTS_PER_ROUND = flags.DEFINE_integer(
  'clients_per_round',
  10,
  'Clients that take part in a round. 0 trains on the labels alone, with the'
  ' same server steps.',
  lower_bound=0,
)
MODEL_DEPTH = flags.DEFINE_integer(
  'model_depth',
  None,
  'Depth of the WideResNet. By default as the task has it: 7 for digits, 28'
  ' for cifar10.',
  lower_bound=1,
)
MODEL_WIDTH = flags.DEFINE_integer(
  'model_width',
  None,
  'Width of the WideResNet. By default as the task has it: 2.',
  lower_bound=1,
)

# How it is learned. Defaults are those of SemiFL's Tables 4 and 5.
TOTAL_ROUNDS = flags.DEFINE_integer(
  'total_rounds',
  800,
  'Rounds, and length of the cosine that the learning rate follows.',
  lower_bound=1,
)
CLIENT_EPOCHS = flags.DEFINE_integer(
  'client_epochs', 5, 'Epochs of a client in a round.', lower_bound=1
)
SERVER_EPOCHS = flags.DEFINE_integer(
  'server_epochs', 5, 'Epochs of the server in a round.', lower_bound=0
)
CLIENT_BATCH_SIZE = flags.DEFINE_integer(
  'client_batch_size', 10, 'Images in a step of a client.', lower_bound=1
)
SERVER_BATCH_SIZE = flags.DEFINE_integer(
  'server_batch_size',
  None,
  'Images in a step of the server. By default 250, or 10 for up to 250 labelled'
  " images (the authors' rule).",
  lower_bound=1,
)
CONFIDENCE_THRESHOLD = flags.DEFINE_float(
  'confidence_threshold',
  0.95,
  'Probability from which on a pseudo-label is trained on, in (0, 1].',
)
MIXUP_CONCENTRATION = flags.DEFINE_float(
  'mixup_concentration',
  0.75,
  'Both parameters of the Beta distribution that mixup draws from, above 0.',
)
MIX_LOSS_WEIGHT = flags.DEFINE_float(
  'mix_loss_weight',
  1.0,
  'Factor on the loss of mixed images; 0 leaves them out.',
)
LEARNING_RATE = flags.DEFINE_float(
  'learning_rate',
  0.03,
  'Learning rate of server and clients in the first round, above 0.',
)
MOMENTUM = flags.DEFINE_float(
  'momentum', 0.9, 'Nesterov momentum of server and clients, in [0, 1).'
)
WEIGHT_DECAY = flags.DEFINE_float(
  'weight_decay',
  5e-4,
  'Weight decay of all weights, server and clients.',
)
CLIP_NORM = flags.DEFINE_float(
  'clip_norm',
  1.0,
  "Bound on the norm of a step's gradients, above 0 (the authors' code).",
)
GLOBAL_MOMENTUM = flags.DEFINE_float(
  'global_momentum',
  0.5,
  "Momentum of the clients' mean from round to round, in [0, 1).",
)

# How it is run, and where the results go.
RUNTIME = flags.DEFINE_enum(
  'runtime',
  'in_process',
  ['in_process', 'native'],
  'What runs the computations: in_process, the TensorFlow of this program;'
  " native, a worker process of TFF's, on the CPU, a check on the former.",
)
MAX_CONCURRENT_CLIENTS = flags.DEFINE_integer(
  'max_concurrent_clients',
  None,
  'Clients that work at the same time. By default one in process, no limit in'
  ' a worker. Results do not depend on it.',
  lower_bound=1,
)
MEASURE_PSEUDO_LABELS = flags.DEFINE_bool(
  'measure_pseudo_labels',
  True,
  'Whether to compare pseudo-labels with the true ones, which a simulation'
  ' knows; training never does. Columns of metrics.csv are 0 otherwise, as they'
  ' are for stl10, whose images have no known class.',
)
OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', 'results', 'Folder for the folders of all experiments.'
)
EXPERIMENT_NAME = flags.DEFINE_string(
  'experiment_name',
  None,
  'Name of the folder. By default made of task, labels, partition and seed. A'
  ' folder with the same experiment is resumed, one with another is refused.',
)

# None changes what is computed, so they may differ when a run is resumed.
MAY_CHANGE = frozenset(
  flag.name
  for flag in (
    RUNTIME,
    MAX_CONCURRENT_CLIENTS,
    OUTPUT_DIR,
    EXPERIMENT_NAME,
  )
)


def _register_range(flag: flags.FlagHolder, check, description: str) -> None:
  flags.register_validator(flag.name, check, message=f'must be {description}')


# Infinity and what is no number are beyond every range.
for _flag in (MIXUP_CONCENTRATION, LEARNING_RATE, CLIP_NORM):
  _register_range(_flag, lambda value: 0 < value < math.inf, 'above 0')
for _flag in (WEIGHT_DECAY, MIX_LOSS_WEIGHT):
  _register_range(_flag, lambda value: 0 <= value < math.inf, 'at least 0')
for _flag in (MOMENTUM, GLOBAL_MOMENTUM):
  _register_range(_flag, lambda value: 0 <= value < 1, 'in [0, 1)')
_register_range(CONFIDENCE_THRESHOLD, lambda value: 0 < value <= 1, 'in (0, 1]')


def all_values() -> dict[str, object]:
  """Returns the value of each flag of an experiment by name."""
  by_module = flags.FLAGS.flags_by_module_dict()
  modules = (data_flags.__name__, augmentation_flags.__name__, __name__)
  return {flag.name: flag.value for m in modules for flag in by_module[m]}
