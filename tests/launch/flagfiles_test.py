# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that there is a flagfile for each cell of SemiFL's tables, and right.

What the paper has is written down here a second time: Tables 1, 3 and 5,
sizes of data sets (C.1), steps (A.3, A.9).
"""

import json
import math
import pathlib
from typing import NamedTuple

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from launch import plan
from launch import settings as settings_lib
from launch import systems
from tests import forked_programs
from tests.data import tfds_files
from tests.launch import flagfile_cells
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources

_FOLDER = flagfile_cells.ROOT / 'launch' / 'flagfiles' / 'semifl'

# The columns of Table 1.
_COLUMNS = (
  ('cifar10', 250),
  ('cifar10', 4000),
  ('svhn', 250),
  ('svhn', 1000),
  ('cifar100', 2500),
  ('cifar100', 10_000),
)
_TABLE_1 = {
  'classes2': '60.0(0.9) 85.3(0.3) 87.5(1.1) 92.2(0.8) 35.2(0.3) 62.1(0.4)',
  'dirichlet0.1': '63.0(0.6) 84.5(0.4) 91.2(0.3) 93.0(0.5) 49.0(1.0) 68.0(0.2)',
  'dirichlet0.3': '71.9(1.2) 88.9(0.3) 94.0(0.5) 95.2(0.2) 54.9(1.4) 70.0(0.3)',
  'iid': '88.2(0.3) 93.1(0.1) 96.8(0.3) 96.9(0.1) 61.3(1.2) 72.1(0.2)',
}
# Its second row, with the statistics of server and clients, is Table 1's.
_TABLE_3_SERVER_ONLY = {
  (250, 'classes2'): '60.0(0.8)',
  (250, 'iid'): '86.3(0.2)',
  (4000, 'classes2'): '85.5(0.1)',
  (4000, 'iid'): '93.1(0.2)',
}
# Its last row is Table 1's too.
_TABLE_5 = {
  ('one_epoch', 'classes2'): '83.4(0.5)',
  ('one_epoch', 'iid'): '88.9(0.3)',
  ('no_mixup', 'classes2'): '84.2(0.4)',
  ('no_mixup', 'iid'): '91.3(0.2)',
  ('no_global_momentum', 'classes2'): '85.4(0.6)',
  ('no_global_momentum', 'iid'): '92.4(0.1)',
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
# Table 4 and the defaults of the authors' code.
_COMMON = {
  'num_clients': 100,
  'clients_per_round': 10,
  'total_rounds': 800,
  'client_epochs': 5,
  'server_epochs': 5,
  'client_batch_size': 10,
  'confidence_threshold': 0.95,
  'learning_rate': 0.03,
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'clip_norm': 1,
  'global_momentum': 0.5,
  'keep_server_momentum': True,
  'keep_client_momentum': True,
  'batch_norm_statistics': 'pooled',
  'model': 'wide_resnet',
  'model_depth': 28,
  'normalization': 'static_batch',
  'strong_augmentation': 'semifl',
  'benchmark_views': False,
  'mixup_concentration': 0.75,
  'mix_loss_weight': 1,
  'soft_pseudo_labels': False,
  'mix_once_per_round': False,
  'mix_before_augmentation': False,
}
# With five epochs (A.3).
_SERVER_STEPS = {
  ('cifar10', 250): 125,
  ('cifar10', 4000): 80,
  ('svhn', 250): 125,
  ('svhn', 1000): 20,
  ('cifar100', 2500): 50,
  ('cifar100', 10_000): 200,
}
# Images of each client, if all have as many (C.5).
_IID_SIZES = {
  ('cifar10', 250): 497,
  ('cifar10', 4000): 460,
  ('svhn', 250): 730,
  ('svhn', 1000): 722,
  ('cifar100', 2500): 475,
  ('cifar100', 10_000): 400,
}


class _Cell(NamedTuple):
  """A cell of a table.

  Attributes:
    task: The data set.
    num_labeled: Labelled images.
    sharing: A key of `flagfile_cells.PARTITIONS`.
    change: A key of `_CHANGES`, or None.
    accuracy: As the table has it.
  """

  task: str
  num_labeled: int
  sharing: str
  change: str | None
  accuracy: str

  @property
  def name(self) -> str:
    parts = (self.task, str(self.num_labeled), self.sharing, self.change)
    return '_'.join(filter(None, parts))

  @property
  def path(self) -> pathlib.Path:
    return _FOLDER / f'{self.name}.flags'

  @property
  def epochs(self) -> int:
    return 1 if self.change == 'one_epoch' else 5


_CELLS = [
  *(
    _Cell(task, num_labeled, sharing, None, accuracy)
    for sharing, row in _TABLE_1.items()
    for (task, num_labeled), accuracy in zip(_COLUMNS, row.split(), strict=True)
  ),
  *(
    _Cell('cifar10', num_labeled, sharing, 'server_statistics', accuracy)
    for (num_labeled, sharing), accuracy in _TABLE_3_SERVER_ONLY.items()
  ),
  *(
    _Cell('cifar10', 4000, sharing, change, accuracy)
    for (change, sharing), accuracy in _TABLE_5.items()
  ),
]
_NAMED_CELLS = [(cell.name.replace('.', '_'), cell) for cell in _CELLS]


def _client_sizes(cell):
  """Returns how many images each client has, derived without any flag."""
  key = (cell.task, cell.num_labeled)
  if cell.sharing == 'iid':
    return [_IID_SIZES[key]] * 100
  # The sizes follow from how many unlabelled images of each class there are,
  # and from the seed.
  class_sizes = flagfile_cells.CLASS_SIZES[cell.task]
  num_classes = len(class_sizes)
  labels = np.repeat(
    np.arange(num_classes),
    np.array(class_sizes) - cell.num_labeled // num_classes,
  )
  if cell.sharing == 'classes2':
    shares = skewed_partition.partition_classes(labels, num_classes, 2, 100, 0)
  else:
    concentration = {'dirichlet0.1': 0.1, 'dirichlet0.3': 0.3}[cell.sharing]
    shares = skewed_partition.partition_dirichlet(labels, concentration, 100, 0)
  return [len(share) for share in shares]


class FlagfilesTest(parameterized.TestCase):
  def test_there_is_one_for_each_cell_and_no_other(self):
    self.assertLen(_CELLS, 24 + 4 + 6)
    self.assertCountEqual(
      [path.name for path in _FOLDER.iterdir()],
      ['digits_50_iid.flags', *(cell.path.name for cell in _CELLS)],
    )

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_first_line_says_what_the_paper_reached(self, cell):
    accuracy, spread = cell.accuracy.removesuffix(')').split('(')
    data_set = {'cifar10': 'CIFAR-10', 'cifar100': 'CIFAR-100', 'svhn': 'SVHN'}
    how = {
      'classes2': 'K=2',
      'dirichlet0.1': 'Dir(0.1)',
      'dirichlet0.3': 'Dir(0.3)',
      'iid': 'IID',
    }
    what = [
      data_set[cell.task],
      f'{cell.num_labeled} labels',
      how[cell.sharing],
      *([cell.change.replace('_', ' ')] if cell.change else []),
    ]
    tables = {None: '1', 'server_statistics': '3'}.get(cell.change, '5')
    if cell.task == 'cifar10' and not cell.change:
      if cell.sharing in ('classes2', 'iid'):
        tables = {250: '1, 3', 4000: '1, 2, 3, 5'}[cell.num_labeled]
    self.assertEqual(
      cell.path.read_text().splitlines()[0],
      f'# Paper: {accuracy}% ({spread}): {", ".join(what)};'
      f' Table{"s" if len(tables) > 1 else ""} {tables}.',
    )

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_flags_mean_the_cell(self, cell):
    expected = (
      _COMMON
      | {
        'task': cell.task,
        'num_labeled': cell.num_labeled,
        'model_width': 8 if cell.task == 'cifar100' else 2,
        # D4, the code at the time of the paper.
        'server_batch_size': 10 if cell.num_labeled == 250 else 250,
        # Cells whose experiments have the same name must not share a folder.
        'output_dir': f'results/semifl/{cell.name}',
      }
      | flagfile_cells.PARTITIONS[cell.sharing]
      | _CHANGES.get(cell.change, {})
    )
    with flagfile_cells.flags_of(cell.path):
      settings = settings_lib.resolve(systems.SEMIFL)
      values = settings_lib.all_flags(systems.SEMIFL, settings)
      present = {name for name in values if flags.FLAGS[name].present}
    # The others have no use, such as those of other partitions.
    used = {name for name in values if values[name] is not None}
    not_the_cells = flagfile_cells.NOT_THE_CELLS - expected.keys()
    self.assertEqual(
      {name: values[name] for name in used - not_the_cells}, expected
    )
    # No cell relies on a default, which may change.
    self.assertEqual(present, expected.keys())

  @parameterized.named_parameters(_NAMED_CELLS)
  def test_steps_are_those_of_the_paper_and_of_the_comment(self, cell):
    with flagfile_cells.flags_of(cell.path):
      experiment = flagfile_cells.create_experiment(systems.SEMIFL, cell.task)
      described = plan.describe(experiment)
    server_steps = _SERVER_STEPS[cell.task, cell.num_labeled] * cell.epochs // 5
    self.assertEqual(described['server_steps_per_round'], server_steps)

    sizes = _client_sizes(cell)
    self.assertEqual(experiment.clients.num_images, sizes)
    steps = [cell.epochs * math.ceil(size / 10) for size in sizes]
    self.assertEqual(
      described['steps_of_a_client_per_round_at_most'], max(steps)
    )
    cohorts = [
      sum(steps[client] for client in experiment.clients.cohort(round_num))
      for round_num in range(1, 801)
    ]
    seed = ' (seed 0)' if len(set(steps)) > 1 else ''
    self.assertContainsSubsequence(
      cell.path.read_text().splitlines(),
      [
        f'# Steps of a round: server {server_steps:,}, its 10 clients at most'
        f' {max(cohorts):,}{seed}.',
        f'# Steps of rounds 0 to 800: server {801 * server_steps:,}, clients at'
        f' most {sum(cohorts):,}{seed}.',
      ],
    )

  @parameterized.parameters(
    ('svhn_1000', 'last code has 10', 500),
    ('cifar100_2500', 'Table 4 has 10', 1250),
  )
  def test_other_server_batches_are_named(self, prefix, who, num_steps):
    paths = list(_FOLDER.glob(f'{prefix}_*.flags'))
    self.assertLen(paths, 4)
    for path in paths:
      comment = path.read_text().replace('\n# ', ' ')
      self.assertRegex(comment, f'{who}, which takes {num_steps:,} .*D4')

  def test_the_real_program_takes_one(self):
    labels = np.arange(400, dtype=np.int32) % 10
    images = tfds_files.random_cifar10(400, seed=0).images
    data = sources.LabelledImages(images, labels)
    data_dir = self.create_tempdir().full_path
    tfds_files.write_cifar10(data_dir, {'train': data, 'test': data})
    completed = forked_programs.run(
      'launch.train_semifl',
      '--flagfile=launch/flagfiles/semifl/cifar10_250_iid.flags',
      # What is given after a flagfile counts.
      '--model_depth=10',
      '--dry_run',
      f'--data_dir={data_dir}',
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    described = json.loads(completed.stdout)
    self.assertEqual(described['labelled_images'], 250)
    self.assertEqual(described['server_steps_per_round'], 125)
    # 150 images for 100 clients.
    self.assertEqual(described['images_per_client'], {'least': 1, 'most': 1})
    self.assertEqual(described['flags']['batch_norm_statistics'], 'pooled')
    self.assertEqual(described['flags']['model_depth'], 10)


if __name__ == '__main__':
  absltest.main()
