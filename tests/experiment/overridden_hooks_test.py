# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of runs of methods whose own hooks leave settings or logits unused."""

import dataclasses

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import small_digits
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.cli import commands
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import running
from tff_semifl.results import run_record


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Nothing(fix_mix.FixMix):
  """Selects no image, whatever the threshold is."""

  def select(self, client, labels):
    del client
    return tf.zeros_like(labels.confidences, tf.bool)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _NoLogits(fix_mix.FixMix):
  """Selects as usual, but more images, and trains without logits."""

  def select(self, client, labels):
    return super().select(client, labels) | True

  def loss(self, step, state):
    del state
    return step.distance(tf.nest.map_structure(tf.zeros_like, step.received))


NOTHING = averaging.Alternating(client=_Nothing())
NO_LOGITS = averaging.Alternating(client=_NoLogits())
_ADVICE = '--confidence_threshold'


class OverriddenHooksTest(absltest.TestCase):
  def _command(self, system, **changes):
    return commands.create(
      system,
      {
        **small_digits.SETTINGS,
        'num_clients': 100,
        'clients_per_round': 2,
        'client_epochs': 1,
        'server_epochs': 1,
        'experiment_name': 'small',
        'output_dir': self.create_tempdir().full_path,
        **changes,
      },
    )

  def _train(self, system, total_rounds):
    """Trains; returns the folder, its log and the settings that were used."""
    command = self._command(system, total_rounds=total_rounds)
    experiment = command.create_experiment()
    folder = command.open_folder(experiment)
    with command.context():
      running.run(experiment, folder, quiet=True)
    log = (folder.path / 'log.txt').read_text()
    return folder.path, log, experiment.used_settings

  def test_threshold_that_is_not_used_is_not_advised(self):
    # After five rounds without a pseudo-label there is a warning.
    path, log, used = self._train(f'{__name__}:NOTHING', total_rounds=5)
    self.assertNotIn('confidence_threshold', used)
    self.assertRegex(log, 'WARNING .* no pseudo-label')
    self.assertIn('clients trained on nothing in 5 of 5', log)
    self.assertNotIn(_ADVICE, log)
    record = run_record.read(path)
    self.assertIn('5 of 5', record.idle_rounds)
    self.assertNotIn(_ADVICE, record.idle_rounds)

  def test_accuracy_without_logits_is_empty(self):
    path, _, used = self._train(f'{__name__}:NO_LOGITS', total_rounds=1)
    self.assertIn('confidence_threshold', used)
    metrics = metrics_table.read_metrics(path / 'metrics.csv')
    self.assertEqual(metrics['client/num_participating'][1], 2)
    self.assertTrue(np.isfinite(metrics['client/loss'][1]))
    self.assertTrue(np.isnan(metrics['client/accuracy'][1]))


if __name__ == '__main__':
  absltest.main()
