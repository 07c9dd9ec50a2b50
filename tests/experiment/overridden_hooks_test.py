# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a run of a method whose own hooks use no logits."""

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class _NoLogits(fix_mix.FixMix):
  """Selects more images than usual, and trains without logits."""

  def select(self, client, labels):
    return super().select(client, labels) | True

  def loss(self, step, state):
    del state
    return step.distance(tf.nest.map_structure(tf.zeros_like, step.received))


NO_LOGITS = averaging.Alternating(client=_NoLogits())


class OverriddenHooksTest(absltest.TestCase):
  def test_accuracy_without_logits_is_empty(self):
    command = commands.create(
      f'{__name__}:NO_LOGITS',
      {
        **small_digits.SETTINGS,
        'num_clients': 100,
        'clients_per_round': 2,
        'client_epochs': 1,
        'server_epochs': 1,
        'total_rounds': 1,
        'experiment_name': 'small',
        'output_dir': self.create_tempdir().full_path,
      },
    )
    experiment = command.create_experiment()
    folder = command.open_folder(experiment)
    with command.context():
      running.run(experiment, folder, quiet=True)
    metrics = metrics_table.read_metrics(folder.metrics_path)
    self.assertEqual(metrics['client/num_participating'][1], 2)
    self.assertTrue(np.isfinite(metrics['client/loss'][1]))
    self.assertTrue(np.isnan(metrics['client/accuracy'][1]))


if __name__ == '__main__':
  absltest.main()
