# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say which images there are and who has them."""

from absl import flags

from tasks import registry
from tff_semifl.data import skewed_partition

# The only task that must be told of its data, by flags of its own.
IMAGE_FOLDER = 'image_folder'

TASK = flags.DEFINE_enum(
  'task',
  'digits',
  sorted([*registry.task_names(), IMAGE_FOLDER]),
  'What to learn; image_folder is for images of your own, in --image_dir.',
)
DATA_DIR = flags.DEFINE_string(
  'data_dir',
  None,
  'Folder of TensorFlow Datasets. By default its own default folder; data that'
  ' is not there is downloaded.',
)
NUM_LABELED = flags.DEFINE_integer(
  'num_labeled',
  None,
  'Labelled images at the server, the same number of each class. By default as'
  ' the task has it: 50 for digits, 4000 for cifar10, 10000 for cifar100, 1000'
  ' for svhn and stl10. Not for image_folder: there it is all of the server.',
  lower_bound=1,
)
PARTITION = flags.DEFINE_enum(
  'partition',
  'iid',
  ['iid', 'classes', 'dirichlet', 'main_classes'],
  'How unlabelled images are shared among clients: iid, at random and evenly;'
  ' classes, a few classes each; dirichlet, a random mix of classes each;'
  ' main_classes, one class more than others each, or with fewer clients than'
  ' classes several, as in the benchmark.',
)
CLASSES_PER_CLIENT = flags.DEFINE_integer(
  'classes_per_client',
  None,
  'Classes of a client, for --partition=classes only. By default 2, as in the'
  ' paper.',
  lower_bound=1,
)
DIRICHLET_CONCENTRATION = flags.DEFINE_float(
  'dirichlet_concentration',
  None,
  'How alike clients are, from 0.001 to 1e6, for --partition=dirichlet only. By'
  " default 0.3, the milder of the paper's 0.1 and 0.3.",
)
SKEW = flags.DEFINE_float(
  'skew',
  None,
  'R of the benchmark, for --partition=main_classes only: from 0, clients are'
  ' alike, to 1, each has its main classes alone. By default 0.4 (equation 8,'
  ' D32).',
)
NUM_CLIENTS = flags.DEFINE_integer(
  'num_clients', 100, 'Clients in all.', lower_bound=1
)
SEED = flags.DEFINE_integer(
  'seed',
  0,
  'All random numbers follow from it.',
  lower_bound=0,
  upper_bound=2**31 - 1,
)

flags.register_validator(
  DIRICHLET_CONCENTRATION.name,
  lambda value: value is None
  or skewed_partition.LEAST_CONCENTRATION
  <= value
  <= skewed_partition.MOST_CONCENTRATION,
  message=f'must be from {skewed_partition.LEAST_CONCENTRATION} to'
  f' {skewed_partition.MOST_CONCENTRATION:g}',
)
flags.register_validator(
  SKEW.name,
  lambda value: value is None or 0 <= value <= 1,
  message='must be in [0, 1]',
)
