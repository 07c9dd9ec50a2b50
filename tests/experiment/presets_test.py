# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that presets are unchanged since they were compared with the papers."""

import collections
import csv
import hashlib
import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tests.experiment import preset_cells
from tff_semifl import settings as settings_lib
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import presets

# Rows that are no cells of papers.
_DIGITS = '/digits_'
_DIGEST = '1fb566c98032081b869f128d32fe0bf5e0beb6b14909b03fec02708636f4cdf8'
_DIGEST_OF_SETTINGS = (
  'a49018ad04deb1bcdbf33b8f780747178680496f75b8c30aaf685d2d98ed72e4'
)
_IN_ONE_PLACE = (
  'pi_model',
  'pseudo_labeling',
  'mean_teacher',
  'mixmatch',
  'uda',
  'remixmatch',
  'fixmatch',
)
# Settings that no cell has: how or with which seed a cell is run, and settings
# of aggregators.
_NOT_OF_CELLS = {
  'aggregator',
  'client_accuracy',
  'client_dropout_probability',
  'client_test_fraction',
  'jit_compile',
  'max_update_norm_ratio',
  'keep_best',
  'metrics',
  'rounds_per_evaluation',
  'runtime',
  'seed',
  'share_prior',
  'server_balanced_sampling',
  'server_logit_adjustment',
  'stop_after',
  'tensorboard',
  'release_managers',
}


def _read(file):
  with pathlib.Path(presets.__file__).with_name(file).open(newline='') as table:
    return list(csv.DictReader(table))


def _digest(value):
  return hashlib.sha256(json.dumps(value).encode()).hexdigest()


class PresetsTest(parameterized.TestCase):
  def test_there_is_one_for_each_cell_and_no_other(self):
    self.assertEqual(
      collections.Counter(
        name.partition('/')[0]
        for name in presets.names()
        if _DIGITS not in name
      ),
      {
        # Tables 1, 3 and 5 of SemiFL.
        'semifl': 24 + 4 + 6,
        'fedmatch_as_in_semifl': 24,
        'fedrgd_as_in_semifl': 24,
        'supervised_fedavg': 12,
        'labels_alone': 6,
        'all_labels': 3,
        **dict.fromkeys(_IN_ONE_PLACE, 6),
        # Table 2 of SemiFL.
        'batch_label_semifl': 2,
        'parallel_semifl': 2,
        'fedavg_fixmatch': 2,
        # Figure 2 of SemiFL.
        'fedsgd_fixmatch': 2,
        'fedsgd_fixmatch_as_in_semifl': 2,
        # Table 1 of (FL)^2.
        'flfl': 18 + 2,
        'client_prior_network': 4,
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
    # Of two rows with the same name, the first would be lost.
    names, bases = (_read(file) for file in ('presets.csv', 'preset_bases.csv'))
    for rows in (names, bases):
      self.assertLen({row['name'] for row in rows}, len(rows))
    used = {base for row in (*names, *bases) for base in row['bases'].split()}
    self.assertEqual({row['name'] for row in bases}, used)

  def test_papers_numbers_and_settings_are_those_that_were_compared(self):
    """Compare changes of a file with the paper, then update the digest here."""
    table = [
      (row['name'], row['accuracy'], row['deviation'], row['cell'])
      for row in _read('presets.csv')
    ]
    self.assertEqual(_digest(table), _DIGEST)
    settings = {
      name: sorted(presets.load(name).settings.items())
      for name in sorted(presets.names())
      if _DIGITS not in name
    }
    self.assertEqual(_digest(settings), _DIGEST_OF_SETTINGS)

  @parameterized.parameters(
    ('semifl/digits_50_iid', None),
    ('semifl/cifar10_250_classes2', ('60.0% (0.9)', 0.6, 0.009)),
    ('easgd/cifar10_k16_c16_t2_r0.4', ('91.12%', 0.9112, None)),
  )
  def test_what_the_paper_reached(self, name, expected):
    self.assertEqual(presets.load(name).paper, expected)

  def test_none_is_refused_or_relies_on_a_default_that_may_change(self):
    for name in presets.names():
      if _DIGITS in name:
        continue
      preset = presets.load(name)
      # Cells whose experiments have the same name must not share a folder.
      self.assertEqual(preset.output_dir, f'results/{name}')
      command = preset_cells.create_command(name)
      task = command.experiment.data.create_task()
      values = settings_lib.as_dict(
        filled_settings.fill_in(command.experiment, task)
      ) | settings_lib.as_dict(command.run)
      expected = preset.settings | {'output_dir': preset.output_dir}
      # Other settings are not used.
      used = {each for each in values if values[each] is not None}
      self.assertEqual(
        {
          each: values[each]
          for each in used - (_NOT_OF_CELLS - expected.keys())
        },
        expected,
        name,
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
