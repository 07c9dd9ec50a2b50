# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of private experiments before training."""

import json
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from launch import demo
from tests import small_systems
from tests.launch import trained_experiment
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import models
from tff_semifl.experiment import plan
from tff_semifl.experiment import training_warnings
from tff_semifl.privacy import privacy_key

_SMALL = {
  'task': 'digits',
  'num_clients': 20,
  'clients_per_round': 5,
  'client_dropout_probability': 0.5,
}
_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': 1.0}
_FIXED = {'insecure_fixed_privacy_key': '12' * 32}


class PrivateExperimentTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path, 'mine')
    self._file = self._folder / 'privacy.key'

  def _command(self, **values):
    """The command of a small experiment."""
    return commands.create(
      'semifl',
      {
        **_SMALL,
        'model_width': 1,
        'total_rounds': 2,
        'output_dir': str(self._folder.parent),
        'experiment_name': 'mine',
        **values,
      },
    )

  def _create(self, **values):
    """Creates an experiment without model and process, which take long."""
    with (
      mock.patch.object(models.WideResNet, 'create'),
      small_systems.without_computations(),
    ):
      return self._command(**values).create_experiment()

  def _open(self, experiment, **values):
    return self._command(**values).open_folder(experiment)

  @parameterized.named_parameters(
    ('public', {}, True),
    ('fixed', _PRIVATE | _FIXED, True),
    ('private', _PRIVATE, False),
  )
  def test_seed_says_who_takes_part_unless_it_is_secret(self, values, is_known):
    first, second = (self._create(**values).clients for _ in range(2))
    # There are 15,504 ways to choose 5 of 20 clients.
    rounds = range(1, 6)
    self.assertEqual(
      [set(first.chosen(n)) for n in rounds]
      == [set(second.chosen(n)) for n in rounds],
      is_known,
    )
    self.assertEqual(
      [set(first.cohort(n)) for n in rounds]
      == [set(second.cohort(n)) for n in rounds],
      is_known,
    )

  @parameterized.parameters((0.5, True), (100.0, False))
  def test_cost_is_said_before_training(self, noise_multiplier, is_weak):
    values = {**_PRIVATE, 'noise_multiplier': noise_multiplier}
    experiment = self._create(**values)
    epsilon = client_privacy.compute_epsilon(
      noise_multiplier=noise_multiplier,
      num_clients=20,
      clients_per_round=5,
      num_rounds=2,
      delta=experiment.settings.private_mean.privacy_delta,
    )
    self.assertEqual(epsilon > 10, is_weak)
    facts = '\n'.join(training_warnings.find_facts(experiment))
    self.assertIn(f'privacy: epsilon {epsilon:.4g} at delta', facts)
    problems = '\n'.join(training_warnings.find_problems(experiment))
    self.assertEqual('a weak guarantee' in problems, is_weak)
    public = self._create()
    facts = '\n'.join(training_warnings.find_facts(public))
    self.assertNotIn('privacy', facts)

  def test_key_of_an_experiment_that_was_begun_is_used_again(self):
    first = self._create(**_PRIVATE)
    folder = self._open(first, **_PRIVATE)
    self.assertEqual(privacy_key.read(self._file), first.privacy_key)
    del folder
    again = self._create(**_PRIVATE)
    self.assertEqual(again.privacy_key, first.privacy_key)
    self.assertEqual(again.clients.cohort(1), first.clients.cohort(1))
    self._open(again, **_PRIVATE)

  @pytest.mark.slow
  def test_plan_and_labels_alone_have_no_secret_and_nothing_is_written(self):
    experiment = self._command(**_PRIVATE).create_experiment()
    said = plan.describe(experiment)
    described = json.dumps(said)
    self.assertGreater(said['privacy']['epsilon'], 1)
    self.assertEqual(said['privacy']['rounds'], 2)
    alone = demo.without_clients(experiment)
    self.assertNotIn(experiment.privacy_key.secret.hex(), described)
    self.assertNotIn(str(experiment.privacy_key.cohort_seed), described)
    self.assertFalse(self._folder.exists())
    self.assertIsNone(alone.privacy_key)
    self.assertEqual(alone.clients.cohort(1), [])

  def _train_to(self, round_num):
    trained_experiment.save(
      self._folder, round_num=round_num, **_SMALL, **_PRIVATE
    )

  def test_rounds_are_not_resumed_without_the_key(self):
    self._train_to(1)
    with self.assertRaisesRegex(
      settings.SettingError,
      f'^output_dir={self._folder.parent}: .*/mine/privacy.key, the secret key',
    ):
      self._open(self._create(**_PRIVATE), **_PRIVATE)
    self.assertFalse(self._file.exists())


if __name__ == '__main__':
  absltest.main()
