# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that there is a preset for each cell of the papers' tables, and right.

Settings are written down a second time in `semifl_cells`, `zhang2020_cells` and
`flfl_cells`.
"""

import collections
import csv
import hashlib
import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tests.experiment import flfl_cells
from tests.experiment import preset_cells
from tests.experiment import semifl_cells
from tests.experiment import zhang2020_cells
from tff_semifl import settings as settings_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import presets

_DIGITS = 'semifl/digits_50_iid'
_DIGEST = '19cb287c9a4b857a6d7e4eb63f12278c1ae6f055b8b84e5df525c610b5276eb7'
_CELLS = (*semifl_cells.CELLS, *zhang2020_cells.CELLS, *flfl_cells.CELLS)


# Settings that no cell has, as they say how or with which seed it is run, or
# are of the aggregators.
_NOT_OF_CELLS = {
  'aggregator',
  'client_accuracy',
  'client_classes',
  'client_dropout_probability',
  'draw_data',
  'drop_test_duplicates',
  'jit_compile',
  'max_update_norm_ratio',
  'keep_best',
  'measure_pseudo_labels',
  'metrics',
  'rounds_per_evaluation',
  'runtime',
  'seed',
  'server_balanced_sampling',
  'server_logit_adjustment',
  'stop_after',
  'tensorboard',
  'log_format',
  'release_managers',
  'train_in_bfloat16',
}


def _read(file):
  with pathlib.Path(presets.__file__).with_name(file).open(newline='') as table:
    return list(csv.DictReader(table))


class PresetsTest(parameterized.TestCase):
  def test_there_is_one_for_each_cell_and_no_other(self):
    self.assertCountEqual(
      presets.names(), [_DIGITS, *(cell.name for cell in _CELLS)]
    )
    self.assertEqual(
      collections.Counter(cell.system_name for cell in _CELLS),
      {
        # Tables 1, 3 and 5 of SemiFL.
        'semifl': 24 + 4 + 6,
        'fedmatch_as_in_semifl': 24,
        'fedrgd_as_in_semifl': 24,
        'supervised_fedavg': 12,
        'labels_alone': 6,
        'all_labels': 3,
        **dict.fromkeys(semifl_cells.SYSTEMS_IN_ONE_PLACE, 6),
        # Table 2 of SemiFL.
        'batch_label_semifl': 2,
        'parallel_semifl': 2,
        'fedavg_fixmatch': 2,
        # Figure 2 of SemiFL.
        'fedsgd_fixmatch': 2,
        'fedsgd_fixmatch_as_in_semifl': 2,
        # Table 1 of (FL)^2.
        'flfl': 18,
        # Zhang et al.
        'consistency_averaging': 66,
        'self_training_averaging': 1,
        'supervised_averaging': 7,
        'easgd': 2,
        'overlap_sgd': 2,
        'data_sharing': 1,
      },
    )

  def test_rows_are_all_there_and_of_use(self):
    # Of two rows with one name, the first would be lost.
    names, bases = (_read(file) for file in ('presets.csv', 'preset_bases.csv'))
    for rows in (names, bases):
      self.assertLen({row['name'] for row in rows}, len(rows))
    used = {base for row in (*names, *bases) for base in row['bases'].split()}
    self.assertEqual({row['name'] for row in bases}, used)

  def test_papers_and_their_numbers_are_those_that_were_compared(self):
    """Compare a changed file with the paper, then update the digest here."""
    table = [
      (row['name'], row['accuracy'], row['deviation'], row['cell'])
      for row in _read('presets.csv')
    ]
    self.assertEqual(
      hashlib.sha256(json.dumps(table).encode()).hexdigest(), _DIGEST
    )

  @parameterized.parameters(
    (_DIGITS, None),
    ('semifl/cifar10_250_classes2', ('60.0% (0.9)', 0.6, 0.009)),
    ('easgd/cifar10_k16_c16_t2_r0.4', ('91.12%', 0.9112, None)),
  )
  def test_what_the_paper_reached(self, name, expected):
    self.assertEqual(presets.load(name).paper, expected)

  @parameterized.named_parameters(preset_cells.with_names(_CELLS))
  def test_settings_mean_the_cell_and_none_is_refused(self, cell):
    preset = presets.load(cell.name)
    # No cell relies on a default, which may change.
    self.assertEqual(preset.settings, cell.settings)
    # Cells whose experiments have the same name must not share a folder.
    self.assertEqual(preset.output_dir, f'results/{cell.name}')

    command = preset_cells.create_command(cell.name)
    task = experiment_lib.create_task(command.experiment.data)
    values = settings_lib.as_dict(
      filled_settings.fill_in(command.experiment, task)
    ) | settings_lib.as_dict(command.run)
    if 'total_epochs' in values:
      # Epochs are rounds, from 0 on.
      self.assertEqual(command.experiment.system.total_rounds, 399)
    expected = cell.settings | {'output_dir': preset.output_dir}
    # Other settings are not used.
    used = {name for name in values if values[name] is not None}
    self.assertEqual(
      {name: values[name] for name in used - (_NOT_OF_CELLS - expected.keys())},
      expected,
    )

  @parameterized.parameters(
    ('semifl/cifar10_4000_idd', 'did you mean semifl/cifar10_4000_iid'),
    ('', 'there is no such preset'),
  )
  def test_one_that_is_not_there_is_named(self, name, message):
    with self.assertRaisesRegex(
      settings_lib.SettingError, f'^preset={name}: .*{message}'
    ):
      presets.load(name)


if __name__ == '__main__':
  absltest.main()
