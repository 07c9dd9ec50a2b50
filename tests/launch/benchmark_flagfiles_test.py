# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flagfiles for the cells of the benchmark of Zhang et al.

What the paper has is written down here a second time (H.6, E.1, D43).
"""

import pathlib
from typing import NamedTuple

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized

from launch import settings as settings_lib
from launch import systems
from tests.launch import flagfile_cells

_FOLDER = flagfile_cells.ROOT / 'launch' / 'flagfiles'
_SYSTEMS = {system.name: system for system in systems.ALL}
_CONSISTENCY = 'consistency_averaging'
_SUPERVISED = 'supervised_averaging'


class _Cell(NamedTuple):
  """A number of the paper, and what it is of; the defaults are those of E.1."""

  accuracy: str
  task: str = 'cifar10'
  users: int = 10
  users_per_round: int = 10
  steps: int = 16
  skew: float = 0.4
  groups: int = 1
  system: str = _CONSISTENCY
  normalization: str = 'group'
  epochs: int = 0

  @property
  def path(self) -> pathlib.Path:
    name = (
      f'{self.task}_k{self.users}_c{self.users_per_round}_t{self.steps}'
      f'_r{self.skew:g}'
    )
    if self.groups > 1:
      name += f'_groups{self.groups}'
    if self.normalization != 'group':
      name += '_batch_norm'
    if self.epochs:
      name += f'_epochs{self.epochs}'
    return _FOLDER / self.system / f'{name}.flags'


_CELLS = (
  # Figure 2.
  _Cell(
    '52.10', system='self_training_averaging', normalization='static_batch'
  ),
  _Cell('85.11', normalization='static_batch'),
  _Cell('92.83'),
  _Cell('93.38', groups=2),
  # Table 1.
  _Cell('92.13', users=20, users_per_round=20),
  _Cell('91.87', users=30, users_per_round=30),
  _Cell('93.06', users=20),
  _Cell('92.78', users=30),
  _Cell('94.36', 'svhn'),
  _Cell('94.83', 'svhn', 20, 20),
  _Cell('74.71', 'svhn', 30, 30),
  _Cell('93.94', 'svhn', 30, 30, epochs=120),
  _Cell('93.37', 'svhn', 30),
  # Table 2.
  _Cell('94.99', 'svhn', 20, 20, groups=2),
  _Cell('70.84', 'emnist', 47, 47),
  _Cell('81.63', 'emnist', 47, 47, groups=5),
  # Table 3.
  _Cell('91.35', steps=32),
  # Table 4.
  _Cell('93.83', users=16, users_per_round=16, steps=2),
  _Cell('94.22', users=16, users_per_round=16, steps=2, groups=2),
  _Cell('92.52', users=16, users_per_round=16, steps=8),
  _Cell('93.58', users=16, users_per_round=16, steps=8, groups=2),
  _Cell('91.28', users=16, users_per_round=16, steps=32),
  _Cell('91.92', users=16, users_per_round=16, steps=32, groups=2),
  # Table C.1.
  _Cell('83.76', 'emnist', 47, 10),
  _Cell('79.05', 'emnist', 47, 30),
  # Table F.1.
  _Cell('80.98', users=30, users_per_round=3),
  _Cell('88.66', users=30, users_per_round=6),
  _Cell('92.15', 'svhn', 30, 3),
  _Cell('93.12', 'svhn', 30, 6),
  # Table G.1.
  _Cell('84.71', 'emnist', 47, 47, system=_SUPERVISED),
  _Cell('84.97', 'emnist', 47, 47, groups=5, system=_SUPERVISED),
  _Cell('86.14', 'emnist', 20, 20, system=_SUPERVISED),
  _Cell('86.27', 'emnist', 20, 20, groups=2, system=_SUPERVISED),
  _Cell('86.19', 'emnist', system=_SUPERVISED),
  _Cell('86.29', 'emnist', groups=2, system=_SUPERVISED),
  # Figure 3.
  _Cell('93.38', skew=0),
  _Cell('94.15', 'svhn', skew=0),
  _Cell('84.15', 'emnist', 47, skew=0),
  _Cell('79.39', skew=1),
  _Cell('86.34', 'svhn', skew=1),
  _Cell('82.56', 'emnist', 47, skew=1),
)
_NAMED_CELLS = [
  (f'{cell.system}_{cell.path.stem}'.replace('.', '_'), cell) for cell in _CELLS
]
_TASKS = {
  # 200 epochs to seven sixteenths of a turn, of 300.
  'cifar10': {
    'learning_rate': 0.146,
    'warm_up_steps': 5 * 1024,
    'schedule_steps': 200 * 1024,
    'schedule_half_turns': 7 / 16,
    'model': 'post_activation_resnet',
    'benchmark_views': True,
    'num_labeled': 1000,
  },
  'svhn': {
    'learning_rate': 0.146,
    'warm_up_steps': 5 * 1024,
    'schedule_steps': 40 * 1024,
    'schedule_half_turns': 2.3,
    'model': 'post_activation_resnet',
    'benchmark_views': True,
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
_EPOCHS = {'cifar10': 300, 'svhn': 40, 'emnist': 100}


def _expected_flags(cell):
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
    'learning_rate_floor': 1e-4,
    'momentum': 0.9,
    'weight_decay': 1e-4,
    'output_dir': f'results/{cell.system}/{cell.path.stem}',
  }
  if cell.task != 'emnist':
    expected['normalization'] = cell.normalization
  if cell.system != _SUPERVISED:
    expected['confidence_threshold'] = 0.95
  if cell.epochs:
    expected['schedule_steps'] = cell.epochs * 1024
  return expected


class BenchmarkFlagfilesTest(parameterized.TestCase):
  def test_there_is_one_for_each_cell_and_no_other(self):
    for system in {cell.system for cell in _CELLS}:
      self.assertCountEqual(
        [path.name for path in (_FOLDER / system).iterdir()],
        [cell.path.name for cell in _CELLS if cell.system == system],
      )

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_flags_mean_the_cell_and_none_is_refused(self, cell):
    system = _SYSTEMS[cell.system]
    with flagfile_cells.flags_of(cell.path):
      system.check_flags()
      settings = settings_lib.resolve(system)
      values = settings_lib.all_flags(system, settings)
      present = {name for name in values if flags.FLAGS[name].present}
    expected = _expected_flags(cell)
    self.assertEqual({name: values[name] for name in expected}, expected)
    # Once an epoch (E.2); it may change, and is no part of the cell.
    self.assertEqual(values['rounds_per_evaluation'], 1024 // cell.steps)
    # No cell relies on a default, which may change.
    self.assertEqual(present, {*expected, 'rounds_per_evaluation'})

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_first_line_says_what_the_paper_reached(self, cell):
    first_line = cell.path.read_text().splitlines()[0]
    self.assertStartsWith(first_line, f'# Paper: {cell.accuracy}%: ')
    self.assertIn(
      f'K={cell.users}, C_k={cell.users_per_round}, T={cell.steps},'
      f' R={cell.skew:g}; ',
      first_line,
    )
    self.assertEqual(f'S={cell.groups}' in first_line, cell.groups > 1)


if __name__ == '__main__':
  absltest.main()
