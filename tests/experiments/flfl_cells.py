# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cells of Table 1 of (FL)^2, as the paper has them (G.6).

Where the paper is silent, settings are those of its authors' code (G.5).
"""

from tests.experiments import preset_cells

_COLUMNS = (
  ('cifar10', 'CIFAR-10', 10),
  ('cifar10', 'CIFAR-10', 40),
  ('svhn', 'SVHN', 40),
  ('svhn', 'SVHN', 250),
  ('cifar100', 'CIFAR-100', 100),
  ('cifar100', 'CIFAR-100', 400),
)
_ROWS = {
  'dirichlet0.1': (
    'Dir(0.1)',
    '19.2 (5.7), 36.4 (1.4), 21.5 (3.3), 88.0 (1.0), 10.4 (1.3), 23.5 (1.2)',
    {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  ),
  'dirichlet0.3': (
    'Dir(0.3)',
    '24.3 (4.5), 43.5 (7.5), 31.0 (4.2), 92.6 (0.5), 12.1 (1.1), 25.4 (1.0)',
    {'partition': 'dirichlet', 'dirichlet_concentration': 0.3},
  ),
  'iid': (
    'IID',
    '38.9 (11.1), 81.5 (7.4), 75.3 (2.4), 94.6 (1.1), 14.4 (2.3), 28.1 (2.2)',
    {'partition': 'iid'},
  ),
}
# Epochs of the server before round 1 (FL4).
_PRETRAINING = {
  ('cifar10', 10): 50,
  ('cifar10', 40): 50,
  ('svhn', 40): 5 * (2048 // 20),
  ('svhn', 250): 5 * (2048 // 125),
}
_SETTINGS = {
  'num_clients': 100,
  'clients_per_round': 10,
  'total_rounds': 800,
  'client_epochs': 5,
  'client_batch_size': 32,
  'server_epochs': 5,
  'server_batch_size': 10,
  'learning_rate': 0.03,
  'constant_learning_rate': False,
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'clip_norm': 1,
  'global_momentum': 0.5,
  'keep_client_momentum': True,
  'keep_server_momentum': True,
  'consistency_weight': 1,
  'consistency_threshold': 0.95,
  'model': 'wide_resnet',
  'model_depth': 28,
  'normalization': 'static_batch',
  'batch_norm_statistics': 'pooled',
  'strong_augmentation': 'semifl',
}


def _create_cells():
  for sharing, (called, accuracies, partition) in _ROWS.items():
    for (task, task_called, num_labeled), accuracy in zip(
      _COLUMNS, accuracies.split(', '), strict=True
    ):
      is_large = task == 'cifar100'
      settings = {
        **_SETTINGS,
        **partition,
        'task': task,
        'num_labeled': num_labeled,
        'model_width': 8 if is_large else 2,
        'perturbation_radius': 1 if is_large else 0.1,
      }
      if not is_large:
        settings['zhang2020_views'] = False
        settings['server_pretraining_epochs'] = _PRETRAINING[task, num_labeled]
      yield preset_cells.Cell(
        f'flfl/{task}_{num_labeled}_{sharing}',
        accuracy,
        f'{task_called}, {num_labeled} labels, {called}; (FL)^2, Table 1',
        settings,
      )


CELLS = tuple(_create_cells())
