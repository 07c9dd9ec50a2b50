# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what settings can vary: systems, statistics, momentum, models."""

import contextlib
import csv
import io
import json
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import numpy as np
import pytest

from launch import train
from tests import simulation_test_case
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.command_line import commands
from tff_semifl.experiments import running
from tff_semifl.systems import training_settings

_SMALL = {
  **small_digits.SETTINGS,
  'num_clients': 10,
  'clients_per_round': 2,
  'client_epochs': 1.0,
  'server_epochs': 1.0,
  # The untrained model is sure enough, so that clients train.
  'confidence_threshold': 0.12,
  'total_rounds': 2,
  'experiment_name': 'small',
}


@pytest.mark.slow
class VariantsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_systems.sharing_models())
    cls.enterClassContext(simulation_test_case.without_grappler())

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _train(self, system_name, *, dry_run=False, **changes):
    """Runs the program's main; returns what it printed."""
    values = _SMALL | {'output_dir': self.folder} | changes
    command = commands.create(
      system_name, {k: v for k, v in values.items() if v is not None}
    )
    with (
      flagsaver.flagsaver(dry_run=dry_run),
      contextlib.redirect_stdout(io.StringIO()) as printed,
      # Nobody here looks at an exported model, which takes seconds to write.
      mock.patch.object(running.saved_model, 'export_saved_model'),
    ):
      train.main(command)
    return printed.getvalue()

  def _rows(self, folder=None):
    path = pathlib.Path(folder or self.folder, 'small', 'metrics.csv')
    with path.open() as file:
      return list(csv.DictReader(file))

  @parameterized.named_parameters(
    ('batch_labels', 'batch_label_semifl', {}),
    (
      'federated_statistics',
      'semifl',
      {'batch_norm_statistics': 'federated'},
    ),
    (
      'group_norm',
      'semifl',
      {'model': 'wide_resnet', 'model_width': 1, 'normalization': 'group'},
    ),
    (
      'as_in_the_formulas',
      'semifl',
      {
        'soft_pseudo_labels': True,
        'mix_once_per_round': True,
        'mix_before_augmentation': True,
        'keep_server_momentum': False,
      },
    ),
  )
  def test_trains_with_clients(self, system_name, changes):
    printed = self._train(system_name, **changes)
    rows = self._rows()
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    self.assertEqual(rows[-1]['client/num_participating'], '2.0')
    self.assertGreater(float(rows[-1]['client/loss']), 0)
    self.assertIn(
      f'round 2: {float(rows[-1]["test/accuracy"]):.1%} of',
      printed,
    )

  def test_momentum_of_clients_is_resumed(self):
    self.enter_context(small_systems.building_once('semifl'))
    changes = {'keep_client_momentum': True, 'total_rounds': 3}
    self._train('semifl', **changes)
    expected = self._rows()
    # As after a kill in the last round but one: its state was not yet saved.
    states = pathlib.Path(self.folder, 'small', 'checkpoints')
    for round_num in (2, 3):
      (states / f'program_state_{round_num}.npz').unlink()
    self._train('semifl', **changes)
    self.assertEqual(
      [row | {'seconds': None} for row in self._rows()],
      [row | {'seconds': None} for row in expected],
    )

  def test_worker_gives_the_numbers_of_the_tables_variant(self):
    """Images of all are in one place, and clients keep states."""
    self.enter_context(small_systems.building_once('semifl'))
    numbers = []
    for kind in ('in_process', 'native'):
      folder = self.create_tempdir().full_path
      self._train(
        'semifl',
        runtime=kind,
        output_dir=folder,
        batch_norm_statistics='pooled',
        keep_client_momentum=True,
      )
      rows = self._rows(folder)
      self.assertEqual(rows[-1]['client/num_participating'], '2.0')
      self.assertGreater(float(rows[-1]['client/loss']), 0)
      numbers.append(
        [
          # What was not measured is empty.
          float(value or 'nan')
          for row in rows
          for name, value in row.items()
          if name != 'seconds'
        ]
      )
    self.assertLen(rows, 3)
    np.testing.assert_allclose(*numbers, rtol=1e-3)

  def test_dry_run_has_the_model_and_the_steps_asked_for(self):
    with small_systems.without_process('semifl'):
      printed = self._train(
        'semifl',
        dry_run=True,
        model='resnet',
        client_epochs=0.5,
        server_epochs=1.5,
      )
    plan = json.loads(printed)
    # The count of B.2 for three channels and ten classes, less what the first
    # convolution has for two of the channels.
    self.assertEqual(plan['trainable_parameters'], 4901450 - 2 * 9 * 64)
    self.assertNotIn('model_width', plan['flags'])
    # 138 images make 14 batches of ten, and 50 labels make five.
    self.assertEqual(plan['steps_of_a_client_per_round_at_most'], 7)
    self.assertEqual(plan['server_steps_per_round'], 10)

  @parameterized.parameters((0.001, 1), (0.5, 7), (1, 14), (1.5, 28), (0, 0))
  def test_steps_of_shares_of_an_epoch(self, num_epochs, num_steps):
    """A.10: 138 images make 14 batches of ten."""
    self.assertEqual(
      training_settings.count_epoch_steps(138, 10, num_epochs), num_steps
    )

  @parameterized.named_parameters(
    (
      'width_of_a_resnet',
      {'model': 'resnet', 'model_width': 2},
      '^model_width=2: it is only for model=wide_resnet or'
      ' model=decomposed_wide_resnet or model=fixmatch_wide_resnet; leave it'
      ' out$',
    ),
    (
      'depth_of_a_resnet',
      {'model': 'resnet', 'model_depth': 10},
      '^model_depth=10: .*possible are 9 and 18',
    ),
    (
      'statistics_of_group_norm',
      {
        'model': 'wide_resnet',
        'normalization': 'group',
        'batch_norm_statistics': 'server',
      },
      '^batch_norm_statistics=server: without static batch normalization',
    ),
  )
  def test_flags_that_do_not_go_together(self, changes, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      self._train('semifl', **changes)
    self.assertFalse(pathlib.Path(self.folder, 'small').exists())

  def test_systems_have_names_and_settings_of_their_own(self):
    created = {}
    for name in ('semifl', 'batch_label_semifl'):
      with small_systems.without_process(name):
        created[name] = commands.create(name, {}).create_experiment()
    self.assertEqual(
      [experiment.run.experiment_name for experiment in created.values()],
      [
        'semifl_digits_50_iid_seed0',
        'batch_label_semifl_digits_50_iid_seed0',
      ],
    )
    with_mixing, without = (
      settings.as_dict(experiment.settings).keys()
      for experiment in created.values()
    )
    self.assertContainsSubset(without, with_mixing)
    self.assertNotIn('mix_loss_weight', without)

  def test_pooled_statistics_are_of_the_labeled_class_by_class(self):
    """D10: then all other images, whether a client has them or not."""
    command = commands.create(
      'semifl', _SMALL | {'batch_norm_statistics': 'pooled', 'num_clients': 7}
    )
    with small_systems.without_process('semifl'):
      experiment = command.create_experiment()
    data = experiment.data
    chunks = experiment.training_program.statistics.data
    labeled, others = chunks.as_numpy_iterator()
    np.testing.assert_array_equal(others, data.unlabeled.images)
    # 1,387 unlabeled images do not go into seven.
    self.assertGreater(len(others), sum(map(len, data.shares)))
    for label in range(10):
      np.testing.assert_array_equal(
        labeled[5 * label : 5 * label + 5],
        data.labeled.images[data.labeled.labels == label],
      )


if __name__ == '__main__':
  absltest.main()
