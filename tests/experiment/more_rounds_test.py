# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of adding rounds to finished runs."""

import csv
import dataclasses
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.experiment import system_registry
from tff_semifl.files import durable_files


class SchedulesTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    *((name, {}) for name in sorted(system_registry.SYSTEMS)),
    ('flfl', {'constant_learning_rate': True}),
  )
  def test_rounds_are_added_where_no_learning_rate_changes(self, name, changes):
    system = settings.change(system_registry.SYSTEMS[name], changes)
    rounds = getattr(system, 'rounds', None)
    if not hasattr(rounds, 'create_learning_rate_fn'):
      # FedMatch has a constant rate; the schedule of Zhang et al. has its own
      # steps; in one place, the schedule is a cosine over all epochs or steps.
      has_own_length = {'schedule_steps', 'rounds_per_help'} & set(
        settings.as_dict(system)
      )
      self.assertEqual(system.rounds_may_be_added, bool(has_own_length))
      return
    short, long = (
      [
        float(rate(number))
        for rate in [
          dataclasses.replace(
            rounds, total_rounds=total_rounds
          ).create_learning_rate_fn()
        ]
        for number in range(5)
      ]
      for total_rounds in (4, 8)
    )
    self.assertEqual(system.rounds_may_be_added, short == long)


class MoreRoundsTest(tf.test.TestCase):
  def _train(self, total_rounds, name, **changes):
    experiment = python_experiment.create_experiment(
      'flfl',
      small_own_task.create_task(),
      create_model=small_own_task.create_model,
      num_clients=2,
      clients_per_round=1,
      client_epochs=1,
      total_rounds=total_rounds,
      output_dir=self.get_temp_dir(),
      experiment_name=name,
      **changes,
    )
    folder = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      final = running.run(experiment, folder, quiet=True)
    with folder.metrics_path.open() as file:
      rows = [
        {key: value for key, value in row.items() if key != 'seconds'}
        for row in csv.DictReader(file)
      ]
    served = tf.saved_model.load(str(folder.export_path)).signatures[
      'serving_default'
    ](images=tf.constant(small_own_task.PIXELS[..., np.newaxis]))
    return final, rows, served['probabilities'].numpy()

  @pytest.mark.slow
  def test_equals_a_run_that_had_them_from_the_beginning(self):
    changes = {'constant_learning_rate': True}
    self._train(1, 'grown', **changes)
    grown, rows, exported = self._train(2, 'grown', **changes)
    long, expected, expected_exported = self._train(2, 'long', **changes)
    self.assertEqual(rows, expected)
    self.assertLen(rows, 3)
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      grown.state.global_model_weights,
      long.state.global_model_weights,
    )
    self.assertAllEqual(exported, expected_exported)
    with self.assertRaisesRegex(durable_files.OutputError, '--total_rounds=2'):
      self._train(1, 'grown', **changes)
    self._train(1, 'cosine')
    path = pathlib.Path(self.get_temp_dir(), 'cosine', 'hparams.json')
    before = path.read_text()
    with self.assertRaisesRegex(durable_files.OutputError, '--total_rounds=1'):
      self._train(2, 'cosine')
    self.assertEqual(path.read_text(), before)


if __name__ == '__main__':
  absltest.main()
