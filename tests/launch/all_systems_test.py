# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that every system runs, resumes, exports, in both local runtimes."""

import csv
import dataclasses
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from launch import experiment as experiment_lib
from launch import program
from launch import settings as settings_lib
from launch import systems
from launch import training_flags
from tests import forked_programs
from tests.programs import saved_run
from tff_semifl.experiments import runtimes

_ROOT = pathlib.Path(__file__).parents[2]
# Little to do, and flags of all systems: each reads its own.
_SMALL = {
  'num_clients': 10,
  'clients_per_round': 2,
  'clients_per_step': 2,
  'client_epochs': 0.2,
  'server_epochs': 0.5,
  # The untrained model is sure enough, so that clients train.
  'confidence_threshold': 0.12,
  'total_rounds': 2,
  'total_epochs': 3,
  'model': 'wide_resnet',
  'model_width': 1,
  'steps_per_round': 2,
  'batch_size': 8,
  'warm_up_steps': 1,
  'schedule_steps': 20,
  'rounds_per_evaluation': 1,
  'num_helpers': 1,
  'rounds_per_help': 1,
  'experiment_name': 'small',
  'tensorboard': False,
}
_OTHER_FLAGS = {
  # They train but one model.
  'fedmatch': {'model': 'fedmatch_resnet', 'model_width': None},
  'fedmatch_as_in_semifl': {'model': 'decomposed_wide_resnet'},
  # Large batches, and few steps: 140 let rounding tell the runtimes apart.
  'fedsgd_fixmatch_as_in_semifl': {'client_batch_size': 50},
}
_NAMED_SYSTEMS = [(system.name, system) for system in systems.ALL]


def _num_participating(system):
  if system.all_clients_take_part:
    return 10
  return 2 if system.uses(training_flags.CLIENTS_PER_ROUND) else 0


def _without_export():
  """Within, nothing is exported, which takes as long as all else."""
  return mock.patch.object(experiment_lib.saved_model, 'export_saved_model')


def _with_process_of(experiment):
  """Returns its system with the process as it was built already."""
  process = experiment.training_program.process
  return dataclasses.replace(
    experiment.system, build_process=lambda *_: process
  )


class AllSystemsTest(parameterized.TestCase):
  def _flags(self, system, **flag_values):
    """Within, flags are those of a small experiment in a new folder."""
    values = system.defaults | _SMALL | _OTHER_FLAGS.get(system.name, {})
    values |= {'output_dir': self.create_tempdir().full_path} | flag_values
    return flagsaver.flagsaver(**values)

  def _create(self, system):
    return experiment_lib.create_experiment(
      system, settings_lib.resolve(system)
    )

  def _run(self, experiment):
    """Trains what is not trained yet; returns the folder."""
    folder = experiment_lib.open_folder(experiment.system, experiment.settings)
    experiment_lib.run(experiment, folder)
    return folder.path

  def _rows(self, folder):
    with (folder / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    for row in rows:
      del row['seconds']
    return rows

  @parameterized.named_parameters(_NAMED_SYSTEMS)
  def test_two_rounds(self, system):
    with self._flags(system), runtimes.simulation_context():
      experiment = self._create(system)
      folder = self._run(experiment)
      rows = self._rows(folder)
      self.assertEqual(
        float(rows[-1]['client/num_participating']), _num_participating(system)
      )
      with self.subTest('what was not measured is empty'):
        self._check_cells(system, rows)
      # Every round but round 0 changes the model.
      self.assertLen({row['test/loss'] for row in rows}, 3)

      with self.subTest('exports'):
        model = tf.saved_model.load(str(folder / 'export'))
        probabilities = model.signatures['serving_default'](
          images=tf.zeros([3, 8, 8, 1], tf.uint8)
        )['probabilities']
        np.testing.assert_allclose(
          np.sum(probabilities, axis=1), np.ones(3), rtol=1e-5
        )

      with self.subTest('resumes exactly'), _without_export():
        before = saved_run.read(folder)
        (folder / 'checkpoints' / 'program_state_2.npz').unlink()
        self.assertEqual(self._rows(self._run(experiment)), rows)
        # The weights too, to the last bit, and all else that is kept.
        self.assertEqual(saved_run.read(folder), before)

    with (
      self.subTest('native'),
      self._flags(system, runtime='native'),
      runtimes.simulation_context(),
      _without_export(),
    ):
      # With the same flags; to build a process takes as long as to run it.
      native = self._create(_with_process_of(experiment))
      found_rows = self._rows(self._run(native))
      for found, expected in zip(found_rows, rows, strict=True):
        for name, value in expected.items():
          # Of 360 images two may be on the other side.
          np.testing.assert_allclose(
            float(found[name] or 'nan'),
            float(value or 'nan'),
            rtol=1e-3,
            atol=6e-3,
            err_msg=name,
          )

  def _check_cells(self, system, rows):
    """Checks which cells of the clients are empty."""
    qualities = ('label_ratio', 'pseudo_accuracy', 'threshold_accuracy')
    labels = system.uses(training_flags.CONFIDENCE_THRESHOLD)
    for row in rows:
      # Round 0 is the server's, and there are systems without pseudo-labels.
      is_measured = labels and row['round'] != '0'
      for name in (*qualities, 'micro_threshold_accuracy'):
        cell = row[f'client/{name}']
        if name in qualities or not is_measured:
          self.assertEqual(cell != '', is_measured, (row['round'], name))
        if cell:
          self.assertBetween(float(cell), 0, 1)
    if system.uses(training_flags.CLIENTS_PER_ROUND):
      for row in rows[1:]:
        diversity = float(row['client/weight_diversity'] or 'nan')
        relative = float(row['client/relative_weight_diversity'] or 'nan')
        # Of two clients it is one half at least.
        self.assertFalse(diversity < 0.4999)
        np.testing.assert_allclose(relative, 2 * diversity, rtol=1e-5)

  def test_statistics_that_were_not_computed_change_nothing(self):
    last_rows = []
    for interval in (1, 2):
      with (
        self._flags(systems.BATCH_LABEL_SEMIFL, rounds_per_evaluation=interval),
        runtimes.simulation_context(),
        _without_export(),
      ):
        folder = self._run(self._create(systems.BATCH_LABEL_SEMIFL))
      with (folder / 'metrics.csv').open() as file:
        rows = list(csv.DictReader(file))
      self.assertLen(rows, 4 - interval)
      del rows[-1]['seconds']
      last_rows.append(rows[-1])
    self.assertEqual(*last_rows)

  @parameterized.named_parameters(_NAMED_SYSTEMS)
  def test_there_is_a_program_that_trains_it(self, system):
    source = (_ROOT / 'launch' / f'train_{system.name}.py').read_text()
    constant = next(
      name for name, value in vars(systems).items() if value is system
    )
    self.assertIn(f'\nsystems.{constant}.adopt_flags()\n', source)
    self.assertIn(f'train.train(systems.{constant})', source)
    if system.defaults:
      self.assertIn(f'\n  systems.{constant}.set_defaults()\n', source)

  @parameterized.parameters(
    (systems.ALL_LABELS, 'clients_per_round', '3'),
    (systems.LABELS_ALONE, 'total_rounds', '3'),
    (systems.SUPERVISED_FEDAVG, 'confidence_threshold', '0.9'),
    (systems.FEDAVG_FIXMATCH, 'mix_loss_weight', '1'),
  )
  def test_flags_of_other_systems_are_refused(self, system, name, value):
    completed = forked_programs.run(
      f'launch.train_{system.name}',
      f'--{name}={value}',
    )
    self.assertEqual(completed.returncode, 1)
    self.assertEqual(
      completed.stderr.splitlines()[-1],
      f'flag --{name}: launch.train_{system.name} has no use for it; leave it'
      ' out',
    )

  @parameterized.parameters(
    (systems.SUPERVISED_AVERAGING,), (systems.CONSISTENCY_AVERAGING,)
  )
  def test_no_pass_over_images_replaces_running_statistics_d48(self, system):
    with self._flags(system, normalization='static_batch'):
      experiment = self._create(system)
    self.assertIsNone(experiment.training_program.statistics)

  def test_more_clients_in_a_step_than_there_are(self):
    with (
      self._flags(systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL, clients_per_step=11),
      self.assertRaisesRegex(
        program.FlagError, '--clients_per_step=11: there are 10 clients; .*most'
      ),
    ):
      self._create(systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL)

  def test_server_statistics_without_images_at_the_server(self):
    with self.assertRaisesRegex(
      program.FlagError, '--batch_norm_statistics=server: the server has no'
    ):
      with self._flags(
        systems.SUPERVISED_FEDAVG, batch_norm_statistics='server'
      ):
        self._create(systems.SUPERVISED_FEDAVG)


if __name__ == '__main__':
  absltest.main()
