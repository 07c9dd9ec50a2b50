# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the best model by a metric is exported and recorded."""

import contextlib
import csv
import io

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import small_digits
from tests import small_systems
from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.metrics import intervals
from tff_semifl.models import functional


class KeptModelTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(small_digits.without_rand_augment())

  def _create(self, total_rounds=3, **changes):
    return python_experiment.create_experiment(
      'flfl',
      small_own_task.create_task(),
      create_model=small_own_task.create_model,
      **{
        'num_clients': 2,
        'clients_per_round': 1,
        'client_epochs': 1,
        'constant_learning_rate': True,
        'total_rounds': total_rounds,
        'output_dir': self.get_temp_dir(),
        'experiment_name': 'mine',
        **changes,
      },
    )

  def _run(self, experiment, **changes):
    folder = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      return folder, running.run(experiment, folder, **changes)

  @pytest.mark.slow
  def test_exports_the_best_round_and_may_be_given_more(self):
    # Lower is better for the Brier score; the other metric names a class.
    changes = {'keep_best': 'test/brier', 'metrics': ('recall',)}
    experiment = self._create(2, **changes)
    folder, final = self._run(self._create(2, **changes), quiet=True)
    with folder.metrics_path.open() as file:
      rows = list(csv.DictReader(file))
    self.assertEqual(
      list(rows[0])[-3:], ['test/recall/0', 'test/recall/1', 'test/brier']
    )
    briers = [float(row['test/brier']) for row in rows]
    best_round = briers.index(min(briers))
    self.assertEqual(final.best[:2], (briers[best_round], best_round))
    self._assert_exports(experiment, folder, final, best_round)
    # Deleting the object of the folder releases the lock.
    del folder

    longer, final = self._run(self._create(4, **changes), quiet=True)
    briers = metrics_table.read_metrics(longer.metrics_path)['test/brier']
    self.assertLen(briers, 5)
    self._assert_exports(experiment, longer, final, int(np.argmin(briers)))
    del longer
    with self.assertRaisesRegex(
      durable_files.OutputError, 'with --keep_best=test/brier and not test/nll'
    ):
      self._run(self._create(4, keep_best='test/nll'), quiet=True)

  def _assert_exports(self, experiment, folder, final, best_round):
    trained = saved_experiment.read_trained_model(folder.path)
    self.assertEqual(trained.round_num, best_round)
    self.assertEqual(trained.last_round, final.round_num)
    self.assertTrue(trained.choice.is_by_test)
    self.assertStartsWith(
      trained.choice.describe(), 'the first with the best test/brier (0.'
    )
    model = experiment.model
    functional.find_weights(model).assign(trained.weights)
    images = small_own_task.PIXELS[..., np.newaxis]
    served = tf.saved_model.load(str(folder.export_path)).signatures[
      'serving_default'
    ](images=tf.constant(images))
    self.assertAllClose(
      served['probabilities'], tf.nn.softmax(model(tf.cast(images, tf.float32)))
    )

  def test_says_what_is_wrong_and_that_it_stopped(self):
    changes = {'keep_best': 'test/recall/1', 'stop_after': 1}
    # With so low a learning rate, no later round is better than round 0.
    experiment = self._create(**changes, learning_rate=1e-9, server_epochs=0)
    with (
      contextlib.redirect_stderr(io.StringIO()) as said,
      self.assertLogs(level='WARNING') as logs,
    ):
      folder, final = self._run(experiment)
    warning = 'mine: the server takes no step'
    self.assertIn(warning, logs.output[0])
    self.assertEqual((final.round_num, final.best.round_num), (1, 0))
    accuracy, size = final.best.accuracy, len(experiment.data.test.labels)
    interval = intervals.of_accuracy(round(accuracy * size), size)
    for each in ('round 0', f'{accuracy:.1%}', interval, folder.export_path):
      self.assertIn(str(each), repr(final))
    for each in ('flfl', 'own_data', 'create_model', 2, folder.path):
      self.assertIn(str(each), repr(experiment))
    expected = (
      'stopped after round 1 of 3: no gain of test/recall/1 in 1 evaluations'
    )
    self.assertEqual(running.describe_early_end(experiment, final), expected)
    self.assertIn(f'mine: {expected}\n', said.getvalue())
    log = folder.log_path.read_text()
    self.assertIn(expected, log)
    self.assertIn(f'WARNING {warning}', log.partition('round 0')[0])

  @parameterized.parameters(
    ({'stop_after': 2}, '^stop_after=2: needs keep_best'),
    ({'keep_best': 'validation/auc'}, 'needs num_validation'),
    ({'keep_best': 'test/acu'}, '^keep_best=test/acu: did you mean auc'),
    ({'keep_best': 'test/recall'}, 'name one of test/recall/0, test/recall/1$'),
    (
      {
        'keep_best': 'test/auc',
        'stop_after': 3,
        'aggregator': 'differential_privacy',
        'noise_multiplier': 1.0,
      },
      '^stop_after=3: with aggregator=differential_privacy',
    ),
  )
  def test_refuses_before_training(self, changes, message):
    with (
      small_systems.without_computations(),
      self.assertRaisesRegex(settings.SettingError, message),
    ):
      self._create(**changes)


if __name__ == '__main__':
  tf.test.main()
