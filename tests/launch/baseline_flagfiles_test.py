# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flagfiles for the cells of SemiFL's baselines.

What the paper has is written down here a second time: its Tables 1 and 2, and
the numbers of its authors' code (D.1, D.7).
"""

import pathlib
from typing import NamedTuple

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized

from launch import plan
from launch import settings as settings_lib
from launch import systems
from tests.launch import flagfile_cells

_FOLDER = flagfile_cells.ROOT / 'launch' / 'flagfiles'
_SYSTEMS = {system.name: system for system in systems.ALL}
_SETS = {'cifar10': 'CIFAR-10', 'cifar100': 'CIFAR-100', 'svhn': 'SVHN'}
_SHARINGS = {
  'classes2': 'K=2',
  'dirichlet0.1': 'Dir(0.1)',
  'dirichlet0.3': 'Dir(0.3)',
  'iid': 'IID',
}
_COLUMNS = (
  ('cifar10', 250),
  ('cifar10', 4000),
  ('svhn', 250),
  ('svhn', 1000),
  ('cifar100', 2500),
  ('cifar100', 10_000),
)
_FULL_COLUMNS = (('cifar10', None), ('svhn', None), ('cifar100', None))
# By system and partition: accuracies in the order of the columns.
_TABLE_1 = {
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
  ('all_labels', None): '95.3 (0.1), 97.3 (0.0), 79.3 (0.1)',
}
# CIFAR-10 with 4,000 labels, without spread.
_TABLE_2 = {
  ('fedavg_fixmatch', 'classes2'): '41.01',
  ('fedavg_fixmatch', 'iid'): '40.26',
  ('parallel_semifl', 'classes2'): '48.89',
  ('parallel_semifl', 'iid'): '47.03',
  ('batch_label_semifl', 'classes2'): '80.42',
  ('batch_label_semifl', 'iid'): '81.70',
}
_CALLED = {
  'fedmatch_as_in_semifl': 'FedMatch',
  'fedrgd_as_in_semifl': 'FedRGD',
  'supervised_fedavg': 'HeteroFL',
  'labels_alone': 'Partially Supervised',
  'all_labels': 'Fully Supervised',
  'fedavg_fixmatch': 'FedAvg + FixMatch',
  'parallel_semifl': 'SemiFL, labels with the global model alone',
  'batch_label_semifl': 'SemiFL, fine-tuning alone',
}

_MODEL = {
  'model': 'wide_resnet',
  'model_depth': 28,
  'normalization': 'static_batch',
}
_OPTIMIZER = {'momentum': 0.9, 'weight_decay': 5e-4, 'clip_norm': 1}
# D.1, D33: none of it in the paper.
_CENTRALIZED = (
  _MODEL
  | _OPTIMIZER
  | {
    'total_epochs': 400,
    'learning_rate': 0.1,
    # D8, as the authors evaluate it.
    'batch_norm_statistics': 'server_batches',
  }
)
# D.7.
_SUPERVISED = (
  _MODEL
  | _OPTIMIZER
  | {
    'num_clients': 100,
    'clients_per_round': 10,
    'total_rounds': 800,
    'client_epochs': 5,
    'client_batch_size': 10,
    'learning_rate': 0.03,
    'global_momentum': 0.5,
    'keep_client_momentum': True,
    'mask_absent_classes': False,
    'benchmark_views': False,
    'batch_norm_statistics': 'pooled',
  }
)
# Table 4.
_SEMI_SUPERVISED = {
  name: value
  for name, value in _SUPERVISED.items()
  if name != 'mask_absent_classes'
} | {
  'server_epochs': 5,
  'keep_server_momentum': True,
  'confidence_threshold': 0.95,
  'strong_augmentation': 'semifl',
}


class _Cell(NamedTuple):
  """A cell of a table; accuracy in percent, with its spread if it has one."""

  system: str
  task: str
  num_labeled: int | None
  sharing: str | None
  table: int
  accuracy: str

  @property
  def name(self) -> str:
    parts = (self.task, self.num_labeled, self.sharing)
    return '_'.join(str(part) for part in parts if part)

  @property
  def path(self) -> pathlib.Path:
    return _FOLDER / self.system / f'{self.name}.flags'


def _cells():
  for (system, sharing), row in _TABLE_1.items():
    accuracies = row.split(', ')
    columns = _COLUMNS if len(accuracies) == 6 else _FULL_COLUMNS
    for column, accuracy in zip(columns, accuracies, strict=True):
      yield _Cell(system, *column, sharing, 1, accuracy)
  for (system, sharing), accuracy in _TABLE_2.items():
    yield _Cell(system, 'cifar10', 4000, sharing, 2, accuracy)


_CELLS = tuple(_cells())
_NAMED_CELLS = [
  (f'{cell.system}_{cell.name}'.replace('.', '_'), cell) for cell in _CELLS
]


def _expected_flags(cell):
  """Returns what the flags of a cell mean."""
  expected = {
    'task': cell.task,
    'model_width': 8 if cell.task == 'cifar100' else 2,
    'output_dir': f'results/{cell.system}/{cell.name}',
  }
  if cell.num_labeled:
    expected['num_labeled'] = cell.num_labeled
  if cell.sharing:
    expected |= flagfile_cells.PARTITIONS[cell.sharing]
  if cell.system in ('labels_alone', 'all_labels'):
    few = cell.num_labeled is not None and cell.num_labeled <= 1000
    return expected | _CENTRALIZED | {'server_batch_size': 10 if few else 250}
  if cell.system == 'supervised_fedavg':
    return expected | _SUPERVISED
  # D4, the code at the time of the paper.
  expected['server_batch_size'] = 10 if cell.num_labeled == 250 else 250
  if cell.system in ('fedavg_fixmatch', 'parallel_semifl'):
    expected['plain_average'] = False
  expected |= _SEMI_SUPERVISED
  if cell.system == 'fedmatch_as_in_semifl':
    expected |= {'reproduce_bugs': True, 'model': 'decomposed_wide_resnet'}
  return expected


class BaselineFlagfilesTest(parameterized.TestCase):
  def test_there_is_one_for_each_cell_and_no_other(self):
    self.assertLen(_CELLS, 2 * 24 + 12 + 6 + 3 + 6)
    for system in {cell.system for cell in _CELLS}:
      self.assertCountEqual(
        [path.name for path in (_FOLDER / system).iterdir()],
        [cell.path.name for cell in _CELLS if cell.system == system],
      )

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_first_line_says_what_the_paper_reached(self, cell):
    accuracy, _, spread = cell.accuracy.partition(' ')
    what = [
      _CALLED[cell.system],
      _SETS[cell.task],
      *([f'{cell.num_labeled} labels'] if cell.num_labeled else []),
      *([_SHARINGS[cell.sharing]] if cell.sharing else []),
    ]
    self.assertEqual(
      cell.path.read_text().splitlines()[0],
      f'# Paper: {accuracy}%{" " if spread else ""}{spread}:'
      f' {", ".join(what)}; Table {cell.table}.',
    )

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_flags_mean_the_cell_and_none_is_refused(self, cell):
    system = _SYSTEMS[cell.system]
    expected = _expected_flags(cell)
    with flagfile_cells.flags_of(cell.path):
      system.check_flags()
      settings = settings_lib.resolve(system)
      values = settings_lib.all_flags(system, settings)
      present = {name for name in values if flags.FLAGS[name].present}
    if 'total_epochs' in expected:
      # Epochs are rounds, from 0 on.
      self.assertEqual(values.pop('total_rounds'), 399)
    # The others have no use, such as those of other partitions.
    used = {name for name in values if values[name] is not None}
    self.assertEqual(
      {name: values[name] for name in used - flagfile_cells.NOT_THE_CELLS},
      expected,
    )
    # No cell relies on a default, which may change.
    self.assertEqual(present, expected.keys())

  def test_steps_are_those_of_the_authors_code(self):
    for name, steps in (
      # 4,000 labels in batches of 250: 16 an epoch.
      ('labels_alone/cifar10_4000', (16, 0)),
      ('labels_alone/svhn_1000', (100, 0)),
      ('all_labels/cifar10', (200, 0)),
      # 500 images of a client in batches of ten, five epochs.
      ('supervised_fedavg/cifar10_iid', (0, 250)),
      # 460 of them.
      ('fedrgd_as_in_semifl/cifar10_4000_iid', (80, 230)),
      ('fedavg_fixmatch/cifar10_4000_iid', (80, 230)),
    ):
      cell = next(
        cell for cell in _CELLS if f'{cell.system}/{cell.name}' == name
      )
      with flagfile_cells.flags_of(cell.path):
        described = plan.describe(
          flagfile_cells.create_experiment(_SYSTEMS[cell.system], cell.task)
        )
      self.assertEqual(
        (
          described['server_steps_per_round'],
          described['steps_of_a_client_per_round_at_most'],
        ),
        steps,
      )


if __name__ == '__main__':
  absltest.main()
