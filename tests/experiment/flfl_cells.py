# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cells of Table 1 of (FL)^2 (G.6).

Where the paper is silent, settings are those of its authors' code (G.5).
"""

from tests.experiment import preset_cells

_COLUMNS = (
  ('cifar10', 10),
  ('cifar10', 40),
  ('svhn', 40),
  ('svhn', 250),
  ('cifar100', 100),
  ('cifar100', 400),
)
_ROWS = {
  'dirichlet0.1': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'dirichlet0.3': {'partition': 'dirichlet', 'dirichlet_concentration': 0.3},
  'iid': {'partition': 'iid'},
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
  'client_optimizer': 'sgd',
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
  for sharing, partition in _ROWS.items():
    for task, num_labeled in _COLUMNS:
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
        settings['zhang2020_augmentation'] = False
        settings['server_pretraining_epochs'] = _PRETRAINING[task, num_labeled]
      name = f'flfl/{task}_{num_labeled}_{sharing}'
      yield preset_cells.Cell(name, settings)


CELLS = tuple(_create_cells())
