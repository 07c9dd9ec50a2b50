# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that every system runs, resumes and exports, in both local runtimes."""

import dataclasses
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import simulation_test_case
from tests import small_digits
from tests import small_systems
from tests.experiment import saved_run
from tests.launch import programs
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.models import fedmatch_networks

# Small settings of all systems, as far as a system has the setting.
_SMALL = {
  'num_clients': 10,
  'clients_per_round': 2,
  'clients_per_step': 2,
  'client_epochs': 0.2,
  'server_epochs': 0.5,
  # Confidences of the untrained model are above, so that clients train.
  'confidence_threshold': 0.12,
  'total_rounds': 2,
  'total_epochs': 3,
  'total_steps': 6,
  'unlabeled_ratio': 2,
  **small_digits.SETTINGS,
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
_OTHERS = {
  # These systems train a single kind of model.
  'fedmatch': {'model': 'fedmatch_resnet'},
  'fedmatch_as_in_semifl': {
    'model': 'decomposed_wide_resnet',
    'model_width': 1,
  },
  # Few steps of large batches: after 140 steps, rounding would separate the
  # runtimes.
  'fedsgd_fixmatch_as_in_semifl': {'client_batch_size': 50},
  # One part of each kind; flfl tests the others.
  'composed_semifl': {
    'selection': 'class_adaptive',
    'alignment': 'distribution',
    'regularizer': 'sharpness_aware',
    'weighting': 'learning_status',
  },
  'flfl': {'consistency_threshold': 0.12},
  # Clients without labels do not train.
  'labeled_clients_alone': {'labeled_client_share': 1},
  # Static batch normalization is refused.
  'client_prior_network': {'model': 'reddi_emnist_cnn'},
  'client_prior_semifl': {
    'regularizer': 'sharpness_aware',
  },
}
# `client_priors` has a fixed number of rounds, and its own tests.
_SYSTEMS = sorted(system_registry.SYSTEMS.keys() - {'client_priors'})


def _num_participating(system):
  if system.all_clients_take_part:
    return 10
  return 2 if 'clients_per_round' in settings.as_dict(system) else 0


def _watch_export(*, is_done=False):
  """A mock of the export, which takes as long as training."""
  export = running.saved_model.export_saved_model
  return mock.patch.object(
    running.saved_model, 'export_saved_model', wraps=export if is_done else None
  )


def _with_fewer_channels():
  """A context in which FedMatch's network has a sixteenth of its channels."""
  convolution = fedmatch_networks.SparseConvolution
  return mock.patch.object(
    fedmatch_networks,
    'SparseConvolution',
    lambda channels, seed: convolution(channels // 16, seed),
  )


class AllSystemsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Most systems train the same model.
    cls.enterClassContext(small_systems.sharing_models())
    cls.enterClassContext(simulation_test_case.without_grappler())

  def _command(self, system_name, **changes):
    """A small experiment in a new folder."""
    values = _SMALL | _OTHERS.get(system_name, {})
    values |= {'output_dir': self.create_tempdir().full_path} | changes
    return settings.change_present(commands.create(system_name, {}), values)

  def _run(self, command, experiment):
    """Trains the missing rounds, and returns the folder."""
    folder = command.open_folder(experiment)
    running.run(experiment, folder, quiet=True)
    return folder.path

  def _rows(self, folder):
    rows = saved_run.read_rows(folder)
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    return rows

  @parameterized.parameters(_SYSTEMS)
  @pytest.mark.slow
  def test_two_rounds(self, system_name):
    command = self._command(system_name)
    with _with_fewer_channels():
      experiment = command.create_experiment()
    system = experiment.settings.system
    # One context for both runs, so that the second run compiles nothing.
    with command.context():
      with _watch_export(is_done=True) as export:
        folder = self._run(command, experiment)
      self._check_export(export, experiment, folder)
      rows = self._rows(folder)

      with self.subTest('resumes exactly'), _watch_export():
        before = saved_run.read(folder)
        (folder / 'checkpoints' / 'program_state_2.npz').unlink()
        self.assertEqual(self._rows(self._run(command, experiment)), rows)
        # All saved values are equal, including the weights to the last bit.
        self.assertEqual(saved_run.read(folder), before)

    self.assertEqual(
      float(rows[-1]['client/num_participating']), _num_participating(system)
    )
    with self.subTest('what was not measured is empty'):
      self._check_cells(system, rows)
    # Every round but round 0 changes the model.
    self.assertLen({row['test/loss'] for row in rows}, 3)

    native = self._command(system_name, runtime='native')
    there = dataclasses.replace(
      experiment,
      run=dataclasses.replace(experiment.run, output_dir=native.run.output_dir),
    )
    with self.subTest('native'), _watch_export(), native.context():
      found_rows = self._rows(self._run(native, there))
      for found, expected in zip(found_rows, rows, strict=True):
        for name, value in expected.items():
          # Rounding may change predictions of two of 360 images.
          np.testing.assert_allclose(
            float(found[name] or 'nan'),
            float(value or 'nan'),
            rtol=1e-3,
            atol=6e-3,
            err_msg=name,
          )

  def _check_export(self, export, experiment, folder):
    """Checks that the last round's model is exported."""
    model, class_names, *_ = export.call_args.args
    self.assertEqual(class_names, experiment.task.class_names)
    expected = saved_experiment.read_trained_model(folder)
    self.assertEqual(expected.round_num, 2)
    for found, array in zip(
      [*model.trainable_weights, *model.non_trainable_weights],
      [*expected.weights.trainable, *expected.weights.non_trainable],
      strict=True,
    ):
      np.testing.assert_array_equal(found, array)
    served = tf.saved_model.load(str(folder / 'export'))
    images = np.random.default_rng(0).integers(0, 256, [3, 8, 8, 1], np.uint8)
    probabilities = served.signatures['serving_default'](
      images=tf.constant(images)
    )['probabilities']
    np.testing.assert_allclose(
      probabilities,
      tf.nn.softmax(
        experiment.classifier.logits(
          expected.weights, tf.constant(images, tf.float32)
        )
      ),
      rtol=1e-4,
      atol=1e-6,
    )

  def _check_cells(self, system, rows):
    """Checks which cells of clients are empty."""
    qualities = ('label_ratio', 'pseudo_accuracy', 'threshold_accuracy')
    for row in rows:
      # Round 0 has no clients, and some systems have no pseudo-labels.
      is_measured = system.measures_pseudo_labels and row['round'] != '0'
      for name in (*qualities, 'micro_threshold_accuracy'):
        cell = row[f'client/{name}']
        if name in qualities or not is_measured:
          self.assertEqual(cell != '', is_measured, (row['round'], name))
        if cell:
          self.assertBetween(float(cell), 0, 1)
    if 'clients_per_round' in settings.as_dict(system):
      for row in rows[1:]:
        diversity = float(row['client/weight_diversity'] or 'nan')
        relative = float(row['client/relative_weight_diversity'] or 'nan')
        # The diversity of two clients is at least one half.
        self.assertFalse(diversity < 0.4999)
        np.testing.assert_allclose(relative, 2 * diversity, rtol=1e-5)

  def test_program_says_which_systems_there_are(self):
    # Without a name, the list is printed as an error.
    told = programs.run_module('launch.train')
    self.assertEqual(told.returncode, 1)
    for name in _SYSTEMS:
      self.assertRegex(told.stderr, f'(?m)^  {name}\n      [A-Z]')
    self.assertEmpty(told.stdout)

  @parameterized.parameters('supervised_averaging', 'consistency_averaging')
  @pytest.mark.slow
  def test_no_pass_over_images_replaces_running_statistics_d48(
    self, system_name
  ):
    command = self._command(system_name, model='wide_resnet')
    with small_systems.without_process(system_name):
      experiment = command.create_experiment()
    model = experiment.settings.model.model
    self.assertTrue(model.has_static_batch_norm)
    self.assertIsNone(experiment.statistics)

  def test_more_clients_in_a_step_than_there_are(self):
    command = self._command('fedsgd_fixmatch_as_in_semifl', clients_per_step=11)
    with self.assertRaisesRegex(
      settings.SettingError,
      '^clients_per_step=11: ',
    ):
      command.create_experiment()

  def test_server_statistics_without_images_at_the_server(self):
    command = self._command('supervised_fedavg', batch_norm_statistics='server')
    with self.assertRaisesRegex(
      settings.SettingError, '^batch_norm_statistics=server: '
    ):
      command.create_experiment()


if __name__ == '__main__':
  absltest.main()
