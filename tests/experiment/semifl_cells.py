# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cells of SemiFL's Tables 1, 2, 3 and 5 and the curves of its Figure 2.

Its settings are written down here a second time, and those of its authors' code
where it is silent (D.1, D.7, D55).
"""

import itertools

from tests.experiment import preset_cells

_PARTITIONS = {
  'classes2': {'partition': 'classes', 'classes_per_client': 2},
  'dirichlet0.1': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'dirichlet0.3': {'partition': 'dirichlet', 'dirichlet_concentration': 0.3},
  'iid': {'partition': 'iid'},
}
# Systems with labels and a pool of unlabeled images.
SYSTEMS_IN_ONE_PLACE = (
  'pi_model',
  'pseudo_labeling',
  'mean_teacher',
  'mixmatch',
  'uda',
  'remixmatch',
  'fixmatch',
)
# The epochs of federated SGD (C.1, C.5).
_SIZE_OF_A_CLIENT = (50_000 - 4000) // 100
FEDSGD_TURNS_PER_EPOCH = _SIZE_OF_A_CLIENT // 10
FEDSGD_STEPS_PER_EPOCH = 100 * FEDSGD_TURNS_PER_EPOCH // 10

_OPTIMIZER_AND_MODEL = {
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'clip_norm': 1,
  'model': 'wide_resnet',
  'model_depth': 28,
  'normalization': 'static_batch',
}
# D.1, D33: not stated in the paper.
_CENTRALIZED = _OPTIMIZER_AND_MODEL | {
  'total_epochs': 400,
  'learning_rate': 0.1,
  # The authors' evaluation (D8).
  'batch_norm_statistics': 'server_batches',
}
# F.1, of FixMatch's code (D52).
_ONE_PLACE = {
  'total_steps': 2**20,
  'steps_per_round': 2**10,
  'batch_size': 64,
  'learning_rate': 0.03,
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'average_decay': 0.999,
  'model': 'fixmatch_wide_resnet',
  'model_depth': 28,
  'normalization': 'static_batch',
  'batch_norm_statistics': 'server',
}
_RAMP_UP = {'unlabeled_ratio': 1, 'ramp_up_share': 0.4}
_SURE = {'unlabeled_loss_weight': 1, 'confidence_threshold': 0.95}
_STRONG = {'strong_augmentation': 'fixmatch'}
# 2^20 labeled images, of which 64 are a step.
_MIXING = {
  'unlabeled_ratio': 1,
  'guess_temperature': 0.5,
  'ramp_up_steps': 2**20 // 64,
}
_CLIENTS = _OPTIMIZER_AND_MODEL | {
  'num_clients': 100,
  'client_batch_size': 10,
  'learning_rate': 0.03,
  'constant_learning_rate': False,
  'batch_norm_statistics': 'pooled',
}
# Table 4, and the defaults of the authors' code.
_AVERAGING = _CLIENTS | {
  'clients_per_round': 10,
  'total_rounds': 800,
  'client_epochs': 5,
  'global_momentum': 0.5,
  'keep_client_momentum': True,
  'client_optimizer': 'sgd',
}
_SEMI_SUPERVISED = _AVERAGING | {
  'server_epochs': 5,
  'keep_server_momentum': True,
  'confidence_threshold': 0.95,
  'strong_augmentation': 'semifl',
}
_FEDSGD = _CLIENTS | {
  'confidence_threshold': 0.95,
  'strong_augmentation': 'semifl',
}
_OF_SYSTEMS = {
  'semifl': _SEMI_SUPERVISED
  | {
    'mixup_concentration': 0.75,
    'mix_loss_weight': 1,
    'soft_pseudo_labels': False,
    'mix_once_per_round': False,
    'mix_before_augmentation': False,
  },
  'batch_label_semifl': _SEMI_SUPERVISED,
  'parallel_semifl': _SEMI_SUPERVISED | {'plain_average': False},
  'fedavg_fixmatch': _SEMI_SUPERVISED | {'plain_average': False},
  'fedrgd_as_in_semifl': _SEMI_SUPERVISED,
  'fedmatch_as_in_semifl': _SEMI_SUPERVISED
  | {'reproduce_bugs': True, 'model': 'decomposed_wide_resnet'},
  # D.7.
  'supervised_fedavg': _AVERAGING | {'mask_absent_classes': False},
  'labels_alone': _CENTRALIZED,
  'all_labels': _CENTRALIZED,
  'pi_model': _ONE_PLACE | _RAMP_UP | {'unlabeled_loss_weight': 10},
  'mean_teacher': _ONE_PLACE | _RAMP_UP | {'unlabeled_loss_weight': 50},
  'pseudo_labeling': _ONE_PLACE | _RAMP_UP | _SURE | {'reproduce_mask': True},
  'fixmatch': _ONE_PLACE | _SURE | _STRONG | {'unlabeled_ratio': 7},
  'uda': _ONE_PLACE
  | _SURE
  | _STRONG
  | {
    'unlabeled_ratio': 7,
    'target_temperature': 1,
    'signal_annealing': 'none',
  },
  'mixmatch': _ONE_PLACE
  | _MIXING
  | {'unlabeled_loss_weight': 100, 'mixup_concentration': 0.5},
  'remixmatch': _ONE_PLACE
  | _MIXING
  | _STRONG
  | {
    'mixup_concentration': 0.75,
    'num_strong_augmentations': 1,
    'aligned_batches': 128,
    'mixed_loss_weight': 1.5,
    'strong_loss_weight': 0.5,
    'rotation_loss_weight': 0.5,
  },
  'fedsgd_fixmatch': _FEDSGD
  | {
    'clients_per_round': 10,
    'total_rounds': 800 * FEDSGD_STEPS_PER_EPOCH,
    'rounds_per_evaluation': FEDSGD_STEPS_PER_EPOCH,
  },
  'fedsgd_fixmatch_as_in_semifl': _FEDSGD
  | {'clients_per_step': 10, 'total_rounds': 800},
}
_CHANGES = {
  # The authors' statistics (D8).
  'server_statistics': {'batch_norm_statistics': 'server_batches'},
  'one_epoch': {'client_epochs': 1, 'server_epochs': 1},
  'no_mixup': {'mix_loss_weight': 0},
  'no_global_momentum': {'global_momentum': 0},
}


def _choose_server_batch_size(system, num_labeled):
  """Returns the server's batch size, or None without server steps."""
  if system in ('supervised_fedavg', *SYSTEMS_IN_ONE_PLACE):
    return None
  # D4, the code at the time of the paper.
  return 10 if num_labeled == 250 else 250


def _create_cell(system, task, num_labeled, sharing, change=None):
  settings = _OF_SYSTEMS[system] | {
    'task': task,
    'model_width': 8 if task == 'cifar100' else 2,
  }
  if task != 'cifar100':
    settings['zhang2020_augmentation'] = False
  elif system == 'fixmatch':
    # S7.
    settings['weight_decay'] = 1e-3
  optional = {
    'num_labeled': num_labeled,
    'server_batch_size': _choose_server_batch_size(system, num_labeled),
  }
  settings |= {name: value for name, value in optional.items() if value}
  settings |= _PARTITIONS.get(sharing, {}) | _CHANGES.get(change, {})
  name = (task, num_labeled, sharing, change)
  return preset_cells.Cell(
    f'{system}/{"_".join(str(part) for part in name if part)}', settings
  )


def _create_cells():
  columns = (
    ('cifar10', 250),
    ('cifar10', 4000),
    ('svhn', 250),
    ('svhn', 1000),
    ('cifar100', 2500),
    ('cifar100', 10_000),
  )
  all_labels = [(task, None) for task in ('cifar10', 'svhn', 'cifar100')]
  two_sharings = ('classes2', 'iid')
  # Table 1.
  for systems, sharings, some_columns in (
    (
      ('semifl', 'fedmatch_as_in_semifl', 'fedrgd_as_in_semifl'),
      _PARTITIONS,
      columns,
    ),
    (('supervised_fedavg',), _PARTITIONS, all_labels),
    (('labels_alone', *SYSTEMS_IN_ONE_PLACE), [None], columns),
    (('all_labels',), [None], all_labels),
  ):
    for system, sharing, column in itertools.product(
      systems, sharings, some_columns
    ):
      yield _create_cell(system, *column, sharing)
  # Table 2 and Figure 2, of CIFAR-10 with 4000 labels, as Table 5.
  for system, sharing in itertools.product(
    ('fedavg_fixmatch', 'parallel_semifl', 'batch_label_semifl')
    + ('fedsgd_fixmatch', 'fedsgd_fixmatch_as_in_semifl'),
    two_sharings,
  ):
    yield _create_cell(system, 'cifar10', 4000, sharing)
  # Tables 3 and 5.
  for change, sharing in itertools.product(_CHANGES, two_sharings):
    for num_labeled in (
      (250, 4000) if change == 'server_statistics' else (4000,)
    ):
      yield _create_cell('semifl', 'cifar10', num_labeled, sharing, change)


CELLS = tuple(_create_cells())
