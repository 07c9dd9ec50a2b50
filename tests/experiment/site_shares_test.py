# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the prior of class shares that a run estimates after training."""

import math
import pathlib
from unittest import mock

from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tests import simulation_test_case
from tests.experiment import small_own_task
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.experiment import site_shares
from tff_semifl.export import tflite
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior


class SiteSharesTest(simulation_test_case.SimulationTestCase):
  def test_prior_of_a_run_is_that_of_logits_of_clients(self):
    folder = self.create_tempdir().full_path
    experiment = python_experiment.create_experiment(
      'semifl',
      small_own_task.create_task(),
      create_model=small_own_task.create_model,
      num_clients=6,
      clients_per_round=2,
      client_epochs=1,
      total_rounds=1,
      output_dir=folder,
      experiment_name='mine',
    )
    opened = experiment_folder.open_folder(experiment)
    running.run(experiment, opened, quiet=True)
    prior = site_shares.read(opened.path)
    weights = (
      [weight.numpy() for weight in experiment.classifier.variables.trainable],
      [weight.numpy() for weight in experiment.classifier.variables.statistics],
    )
    weights = type(experiment.classifier.initial_weights)(*map(tuple, weights))
    data = experiment.data
    logits = model_results.compute_logits(
      experiment, weights, data.unlabeled.images
    )
    counts = np.bincount(data.labeled.labels, minlength=2)
    expected = share_prior.find_share_prior(
      [logits[share] for share in data.shares], counts / counts.sum()
    )
    self.assertEqual(prior.strength, expected.strength)
    self.assertEqual(prior.temperature, expected.temperature)
    self.assertAlmostEqual(prior.evidence, expected.evidence, places=4)
    means = [
      np.mean(input_shift.summarize(data.unlabeled.images[share]), axis=0)
      for share in data.shares
    ]
    np.testing.assert_allclose(
      prior.inputs.mean, np.mean(means, axis=0), rtol=1e-5
    )
    self.assertAlmostEqual(
      prior.entropies[50],
      np.median(special.entr(special.softmax(logits, axis=1)).sum(axis=1))
      / math.log(2),
      delta=0.01,
    )
    exported = tflite.load(pathlib.Path(opened.export_path))
    self.assertEqual(exported.prior, prior)

  def test_a_run_ends_well_without_a_prior(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / share_prior.NAME).write_text('of fewer rounds')
    experiment = mock.Mock()
    with (
      mock.patch.object(
        site_shares, 'find_prior', side_effect=ValueError('not finite')
      ),
      self.assertLogs(level='WARNING') as logs,
    ):
      self.assertIsNone(site_shares.find_and_write(experiment, folder, None))
    self.assertIn('not finite', logs.output[0])
    self.assertIsNone(site_shares.read(folder))

  @parameterized.parameters(
    ('semifl', {}, True),
    ('semifl', {'share_prior': False}, False),
    ('labels_alone', {}, False),
    ('supervised_fedavg', {}, False),
    ('semifl', {'aggregator': 'differential_privacy'}, False),
  )
  def test_is_the_default_where_it_can_be(self, system, changes, expected):
    command = commands.create(system, changes)
    found = command.run.fill_in(command.experiment)
    self.assertIs(found.share_prior, expected)

  @parameterized.parameters(
    ('labels_alone', {}, 'needs clients'),
    ('semifl', {'aggregator': 'differential_privacy'}, 'does not cover'),
  )
  def test_is_refused_where_it_cannot_be(self, system, changes, reason):
    command = commands.create(system, {'share_prior': True, **changes})
    with self.assertRaisesRegex(
      settings.SettingError, f'^share_prior=True: .*{reason}'
    ):
      command.run.fill_in(command.experiment)


if __name__ == '__main__':
  tf.test.main()
