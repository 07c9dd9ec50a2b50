# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cells of SemiFL's Tables 1, 2, 3 and 5 and the curves of its Figure 2.

What the paper has is written down here a second time: its tables, and the
numbers of its authors' code where it is silent (D.1, D.7, D55).
"""

from tests.experiments import preset_cells

_SETS = {'cifar10': 'CIFAR-10', 'cifar100': 'CIFAR-100', 'svhn': 'SVHN'}
_SHARINGS = {
  'classes2': 'K=2',
  'dirichlet0.1': 'Dir(0.1)',
  'dirichlet0.3': 'Dir(0.3)',
  'iid': 'IID',
}
_PARTITIONS = {
  'classes2': {'partition': 'classes', 'classes_per_client': 2},
  'dirichlet0.1': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'dirichlet0.3': {'partition': 'dirichlet', 'dirichlet_concentration': 0.3},
  'iid': {'partition': 'iid'},
}
COLUMNS = (
  ('cifar10', 250),
  ('cifar10', 4000),
  ('svhn', 250),
  ('svhn', 1000),
  ('cifar100', 2500),
  ('cifar100', 10_000),
)
_FULL_COLUMNS = (('cifar10', None), ('svhn', None), ('cifar100', None))
# With labels and a pool of unlabeled images.
SYSTEMS_IN_ONE_PLACE = (
  'pi_model',
  'pseudo_labeling',
  'mean_teacher',
  'mixmatch',
  'uda',
  'remixmatch',
  'fixmatch',
)
# By system and partition: accuracies in the order of the columns.
_TABLE_1 = {
  ('semifl', 'classes2'): (
    '60.0 (0.9), 85.3 (0.3), 87.5 (1.1), 92.2 (0.8), 35.2 (0.3), 62.1 (0.4)'
  ),
  ('semifl', 'dirichlet0.1'): (
    '63.0 (0.6), 84.5 (0.4), 91.2 (0.3), 93.0 (0.5), 49.0 (1.0), 68.0 (0.2)'
  ),
  ('semifl', 'dirichlet0.3'): (
    '71.9 (1.2), 88.9 (0.3), 94.0 (0.5), 95.2 (0.2), 54.9 (1.4), 70.0 (0.3)'
  ),
  ('semifl', 'iid'): (
    '88.2 (0.3), 93.1 (0.1), 96.8 (0.3), 96.9 (0.1), 61.3 (1.2), 72.1 (0.2)'
  ),
  ('fedmatch_as_in_semifl', 'classes2'): (
    '41.3 (1.1), 58.3 (1.0), 58.2 (3.1), 84.3 (1.0), 17.7 (0.5), 30.5 (0.8)'
  ),
  ('fedmatch_as_in_semifl', 'dirichlet0.1'): (
    '41.6 (1.0), 58.9 (0.7), 58.4 (3.4), 84.3 (0.6), 17.5 (0.5), 30.8 (0.6)'
  ),
  ('fedmatch_as_in_semifl', 'dirichlet0.3'): (
    '41.2 (1.1), 58.4 (0.6), 59.1 (2.8), 84.0 (1.1), 17.8 (0.4), 31.1 (0.5)'
  ),
  ('fedmatch_as_in_semifl', 'iid'): (
    '41.7 (1.1), 58.6 (0.5), 58.6 (3.0), 84.3 (0.9), 17.6 (0.3), 31.3 (1.0)'
  ),
  ('fedrgd_as_in_semifl', 'classes2'): (
    '32.7 (3.6), 48.9 (1.4), 21.2 (2.2), 21.6 (2.3), 13.8 (1.4), 26.5 (3.0)'
  ),
  ('fedrgd_as_in_semifl', 'dirichlet0.1'): (
    '31.5 (2.9), 45.2 (0.8), 20.0 (4.0), 23.8 (3.4), 13.4 (1.3), 23.6 (2.6)'
  ),
  ('fedrgd_as_in_semifl', 'dirichlet0.3'): (
    '32.5 (3.0), 46.9 (1.6), 24.8 (5.1), 22.0 (3.9), 13.1 (2.0), 23.8 (1.9)'
  ),
  ('fedrgd_as_in_semifl', 'iid'): (
    '33.2 (1.9), 47.8 (1.7), 21.3 (6.5), 20.7 (1.1), 13.3 (1.4), 23.8 (2.6)'
  ),
  ('supervised_fedavg', 'classes2'): '51.5 (3.6), 72.3 (4.4), 3.1 (0.3)',
  ('supervised_fedavg', 'dirichlet0.1'): '85.0 (0.6), 95.8 (0.1), 74.0 (0.4)',
  ('supervised_fedavg', 'dirichlet0.3'): '91.6 (0.1), 96.8 (0.0), 76.9 (0.1)',
  ('supervised_fedavg', 'iid'): '94.3 (0.1), 97.5 (0.0), 77.8 (0.2)',
  ('labels_alone', None): (
    '42.4 (1.8), 76.9 (0.2), 77.1 (2.9), 90.4 (0.5), 27.2 (0.7), 59.3 (0.1)'
  ),
  ('pi_model', None): (
    '45.7 (4.0), 86.0 (0.4), 81.0 (1.9), 92.5 (0.4), 42.8 (0.5), 62.1 (0.1)'
  ),
  ('pseudo_labeling', None): (
    '50.2 (0.4), 83.9 (0.3), 79.8 (1.1), 90.1 (0.6), 42.6 (0.5), 63.8 (0.2)'
  ),
  ('mean_teacher', None): (
    '67.7 (2.3), 90.8 (0.2), 96.4 (0.1), 96.6 (0.1), 46.1 (0.6), 64.2 (0.2)'
  ),
  ('mixmatch', None): (
    '89.0 (0.9), 93.6 (0.1), 96.0 (0.2), 96.5 (0.3), 60.1 (0.4), 71.7 (0.3)'
  ),
  ('uda', None): (
    '91.2 (1.1), 95.1 (0.2), 94.3 (2.8), 97.5 (0.2), 66.9 (0.2), 75.5 (0.3)'
  ),
  ('remixmatch', None): (
    '94.6 (0.1), 95.3 (0.1), 97.1 (0.5), 97.4 (0.1), 72.6 (0.3), 77.0 (0.6)'
  ),
  ('fixmatch', None): (
    '94.9 (0.7), 95.7 (0.1), 97.5 (0.4), 97.7 (0.1), 71.7 (0.1), 77.4 (0.1)'
  ),
  ('all_labels', None): '95.3 (0.1), 97.3 (0.0), 79.3 (0.1)',
}
# CIFAR-10 with 4000 labels, without deviations. Its last row is Table 1's.
_TABLE_2 = {
  ('fedavg_fixmatch', 'classes2'): '41.01',
  ('fedavg_fixmatch', 'iid'): '40.26',
  ('parallel_semifl', 'classes2'): '48.89',
  ('parallel_semifl', 'iid'): '47.03',
  ('batch_label_semifl', 'classes2'): '80.42',
  ('batch_label_semifl', 'iid'): '81.70',
}
# CIFAR-10. Its second row, with the statistics of server and clients, is Table
# 1's.
_TABLE_3_SERVER_ONLY = {
  (250, 'classes2'): '60.0 (0.8)',
  (250, 'iid'): '86.3 (0.2)',
  (4000, 'classes2'): '85.5 (0.1)',
  (4000, 'iid'): '93.1 (0.2)',
}
# CIFAR-10 with 4000 labels. Its last row is Table 1's too.
_TABLE_5 = {
  ('one_epoch', 'classes2'): '83.4 (0.5)',
  ('one_epoch', 'iid'): '88.9 (0.3)',
  ('no_mixup', 'classes2'): '84.2 (0.4)',
  ('no_mixup', 'iid'): '91.3 (0.2)',
  ('no_global_momentum', 'classes2'): '85.4 (0.6)',
  ('no_global_momentum', 'iid'): '92.4 (0.1)',
}
_FIGURE_2 = ('fedsgd_fixmatch', 'fedsgd_fixmatch_as_in_semifl')
_CALLED = {
  'fedmatch_as_in_semifl': 'FedMatch',
  'fedrgd_as_in_semifl': 'FedRGD',
  'supervised_fedavg': 'HeteroFL',
  'labels_alone': 'Partially Supervised',
  'all_labels': 'Fully Supervised',
  'pi_model': 'Pi-Model',
  'pseudo_labeling': 'Pseudo-Labeling',
  'mean_teacher': 'Mean Teacher',
  'mixmatch': 'MixMatch',
  'uda': 'UDA',
  'remixmatch': 'ReMixMatch',
  'fixmatch': 'FixMatch',
  'fedavg_fixmatch': 'FedAvg + FixMatch',
  'parallel_semifl': 'SemiFL, labels with the global model alone',
  'batch_label_semifl': 'SemiFL, fine-tuning alone',
  'fedsgd_fixmatch': 'FedSGD + FixMatch',
  'fedsgd_fixmatch_as_in_semifl': 'FedSGD + FixMatch',
}

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
# D.1, D33: none of it in the paper.
_CENTRALIZED = _OPTIMIZER_AND_MODEL | {
  'total_epochs': 400,
  'learning_rate': 0.1,
  # As the authors evaluate it (D8).
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
  'batch_norm_statistics': 'pooled',
}
# Table 4, and the defaults of the authors' code.
_AVERAGING = _CLIENTS | {
  'clients_per_round': 10,
  'total_rounds': 800,
  'client_epochs': 5,
  'global_momentum': 0.5,
  'keep_client_momentum': True,
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
    'num_strong_views': 1,
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
  # As the authors have them (D8), and their final test besides (D11).
  'server_statistics': {
    'batch_norm_statistics': 'server_batches',
    'reproduce_final_test': True,
  },
  'one_epoch': {'client_epochs': 1, 'server_epochs': 1},
  'no_mixup': {'mix_loss_weight': 0},
  'no_global_momentum': {'global_momentum': 0},
}


def _choose_server_batch_size(system, num_labeled):
  """Returns the server's batch size, or None if it takes no steps."""
  if system in ('supervised_fedavg', *SYSTEMS_IN_ONE_PLACE):
    return None
  if system == 'labels_alone':
    return 10 if num_labeled <= 1000 else 250
  # D4, the code at the time of the paper.
  return 10 if num_labeled == 250 else 250


def _create_cell(system, task, num_labeled, sharing, change, accuracy, places):
  settings = _OF_SYSTEMS[system] | {
    'task': task,
    'model_width': 8 if task == 'cifar100' else 2,
  }
  if task != 'cifar100':
    settings['zhang2020_views'] = False
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
  what = [
    _CALLED.get(system),
    _SETS[task],
    num_labeled and f'{num_labeled} labels',
    _SHARINGS.get(sharing),
    change and change.replace('_', ' '),
  ]
  return preset_cells.Cell(
    f'{system}/{"_".join(str(part) for part in name if part)}',
    accuracy,
    f'{", ".join(filter(None, what))}; SemiFL,'
    f' {preset_cells.format_places(places)}',
    settings,
  )


def _places_of_table_1(system, task, num_labeled, sharing):
  """Returns Table 1 and the others that have a cell of it."""
  tables = [1]
  if (
    system == 'semifl' and task == 'cifar10' and sharing in ('classes2', 'iid')
  ):
    tables = {250: [1, 3], 4000: [1, 2, 3, 5]}[num_labeled]
  return [f'Table {table}' for table in tables]


def _create_cells():
  for (system, sharing), row in _TABLE_1.items():
    accuracies = row.split(', ')
    columns = COLUMNS if len(accuracies) == 6 else _FULL_COLUMNS
    for column, accuracy in zip(columns, accuracies, strict=True):
      places = _places_of_table_1(system, *column, sharing)
      yield _create_cell(system, *column, sharing, None, accuracy, places)
  for (system, sharing), accuracy in _TABLE_2.items():
    yield _create_cell(
      system, 'cifar10', 4000, sharing, None, accuracy, ['Table 2']
    )
  for (num_labeled, sharing), accuracy in _TABLE_3_SERVER_ONLY.items():
    yield _create_cell(
      'semifl',
      'cifar10',
      num_labeled,
      sharing,
      'server_statistics',
      accuracy,
      ['Table 3'],
    )
  for (change, sharing), accuracy in _TABLE_5.items():
    yield _create_cell(
      'semifl', 'cifar10', 4000, sharing, change, accuracy, ['Table 5']
    )
  for system in _FIGURE_2:
    for sharing in ('classes2', 'iid'):
      yield _create_cell(
        system, 'cifar10', 4000, sharing, None, None, ['Figure 2']
      )


CELLS = tuple(_create_cells())
