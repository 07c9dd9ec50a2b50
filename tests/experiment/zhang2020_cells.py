# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cells of the tables and figures of Zhang et al.

Its settings are written down here a second time (E.1, D43).
"""

from typing import NamedTuple

from tests.experiment import preset_cells

_CONSISTENCY = 'consistency_averaging'
_SUPERVISED = 'supervised_averaging'


class _Setting(NamedTuple):
  """A setting of the paper; defaults are those of E.1."""

  task: str = 'cifar10'
  users: int = 10  # K
  users_per_round: int = 10  # C_k
  steps: int = 16  # T
  skew: float = 0.4  # R
  groups: int = 1  # S
  system: str = _CONSISTENCY
  normalization: str = 'group'
  epochs: int = 0  # E, 0 for that of Table A.1
  labels: int = 0  # N_s, 0 for 1000, or 4700 for EMNIST

  @property
  def name(self) -> str:
    name = (
      f'{self.system}/{self.task}_k{self.users}_c{self.users_per_round}'
      f'_t{self.steps}_r{self.skew:g}'
    )
    if self.groups > 1:
      name += f'_groups{self.groups}'
    if self.normalization != 'group':
      name += '_batch_norm'
    if self.epochs:
      name += f'_epochs{self.epochs}'
    if self.labels:
      name += f'_labels{self.labels}'
    return name


_EMNIST_ALL = _Setting('emnist', 47, 47)
_TASKS_AND_USERS = (('cifar10', 10), ('svhn', 10), ('emnist', 47))
_SETTINGS = (
  # Figure 2.
  _Setting(system='self_training_averaging', normalization='static_batch'),
  _Setting(normalization='static_batch'),
  _Setting(groups=2),
  # Figures 3 and B.1: R, T and N_s; of EMNIST as many of each of 47 classes as
  # the code has of 1000, 2000, 3000 and 4000.
  *(
    _Setting(task, users, skew=skew)
    for task, users in _TASKS_AND_USERS
    for skew in (0, 0.2, 0.4, 0.6, 0.8, 1)
  ),
  *(
    _Setting(task, users, steps=steps)
    for task, users in _TASKS_AND_USERS
    for steps in (2, 4, 8, 32)
  ),
  *(
    _Setting(task, labels=labels)
    for task in ('cifar10', 'svhn')
    for labels in (2000, 3000, 4000)
  ),
  *(
    _Setting('emnist', 47, labels=labels // 47 * 47)
    for labels in (1000, 2000, 3000, 4000)
  ),
  # Figure D.1 and appendix A.3.
  _Setting('svhn', epochs=120),
  _Setting('svhn', 30, 30, epochs=120),
  # Tables 1 and F.1.
  *(
    _Setting(task, users, users_per_round)
    for task in ('cifar10', 'svhn')
    for users, users_per_round in ((20, 20), (30, 30), (20, 10), (30, 10))
    + ((30, 3), (30, 6))
  ),
  # Tables 2 and C.1.
  _Setting('svhn', 20, 20, groups=2),
  _EMNIST_ALL,
  _EMNIST_ALL._replace(groups=5),
  _Setting('emnist', 47, 30),
  # Table 3.
  _Setting(steps=32, skew=0.29, system=_SUPERVISED),
  _Setting(steps=32, skew=0.29, system='data_sharing'),
  # Table 4.
  *(
    _Setting('cifar10', 16, 16, steps, groups=groups)
    for steps in (2, 8, 32)
    for groups in (1, 2)
  ),
  *(
    _Setting('cifar10', 16, 16, steps, system=system)
    for system in ('easgd', 'overlap_sgd')
    for steps in (2, 8)
  ),
  # Table G.1.
  *(
    _Setting('emnist', users, users, groups=groups, system=_SUPERVISED)
    for users, most_groups in ((47, 5), (20, 2), (10, 2))
    for groups in (1, most_groups)
  ),
)
_TASKS = {
  # 200 epochs to seven sixteenths of a turn, of 300.
  'cifar10': {
    'learning_rate': 0.146,
    'warm_up_steps': 5 * 1024,
    'schedule_steps': 200 * 1024,
    'schedule_half_turns': 7 / 16,
    'model': 'post_activation_resnet',
    'zhang2020_augmentation': True,
    'num_labeled': 1000,
  },
  'svhn': {
    'learning_rate': 0.146,
    'warm_up_steps': 5 * 1024,
    'schedule_steps': 40 * 1024,
    'schedule_half_turns': 2.3,
    'model': 'post_activation_resnet',
    'zhang2020_augmentation': True,
    'num_labeled': 1000,
  },
  'emnist': {
    'learning_rate': 0.03,
    'warm_up_steps': 0,
    'schedule_steps': 100 * 1024,
    'schedule_half_turns': 7 / 16,
    'model': 'emnist_cnn',
    'num_labeled': 4700,
  },
}
# The server does not train, and has an anchor (E.6).
_ANCHORS = {
  'easgd': {'moving_rate': 0.9 / 16},
  'overlap_sgd': {'pull_back': 0.6, 'anchor_momentum': 0.7},
}
# Quoted from a paper that has neither T nor its schedule (E.7).
_DATA_SHARING = {
  'task': 'cifar10',
  'zhang2020_augmentation': True,
  'model': 'post_activation_resnet',
  'normalization': 'group',
  'partition': 'main_classes',
  'skew': 0.29,
  'num_labeled': 2500,
  'num_clients': 10,
  'clients_per_round': 10,
  'client_epochs': 1,
  'client_batch_size': 100,
  'shared_fraction': 0.5,
  'warm_up_epochs': 5,
  'server_batch_size': 100,
  'total_rounds': 300,
  'learning_rate': 0.03,
  'constant_learning_rate': False,
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'clip_norm': 1,
  'global_momentum': 0,
  'keep_client_momentum': False,
  'client_optimizer': 'sgd',
  'mask_absent_classes': False,
}
_EPOCHS = {'cifar10': 300, 'svhn': 40, 'emnist': 100}


def _expected_settings(cell):
  if cell.system == 'data_sharing':
    return _DATA_SHARING
  rounds_per_epoch = 1024 // cell.steps
  epochs = cell.epochs or _EPOCHS[cell.task]
  expected = _TASKS[cell.task] | {
    'task': cell.task,
    'partition': 'main_classes',
    'skew': cell.skew,
    'num_clients': cell.users,
    'clients_per_round': cell.users_per_round,
    'num_groups': cell.groups,
    'steps_per_round': cell.steps,
    'batch_size': 64,
    'total_rounds': epochs * rounds_per_epoch,
    # Once an epoch (E.2).
    'rounds_per_evaluation': rounds_per_epoch,
    'learning_rate_floor': 1e-4,
    'momentum': 0.9,
    'weight_decay': 1e-4,
  }
  if cell.task != 'emnist':
    expected['normalization'] = cell.normalization
  if cell.system in _ANCHORS:
    del expected['num_groups'], expected['num_labeled']
    expected |= _ANCHORS[cell.system]
  elif cell.system != _SUPERVISED:
    expected['confidence_threshold'] = 0.95
  if cell.epochs:
    expected['schedule_steps'] = cell.epochs * 1024
  if cell.labels:
    expected['num_labeled'] = cell.labels
  return expected


CELLS = tuple(
  preset_cells.Cell(cell.name, _expected_settings(cell))
  for cell in dict.fromkeys(_SETTINGS)
)
