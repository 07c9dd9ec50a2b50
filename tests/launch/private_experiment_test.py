# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of private experiments before anything is trained."""

import json
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import experiment as experiment_lib
from launch import models
from launch import plan
from launch import privacy_record
from launch import program
from launch import settings as settings_lib
from launch import systems
from launch import training_programs
from tests.launch import trained_experiment
from tff_semifl.programs import privacy
from tff_semifl.programs import privacy_key_file

_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': '1'}
_FIXED = {'insecure_fixed_privacy_key': '12' * 32}


class PrivateExperimentTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path, 'mine')
    self._file = self._folder / 'privacy.key'

  def _flags(self, **values):
    """Within, flags are those of a small experiment."""
    return flagsaver.as_parsed(
      task='digits',
      model_width='1',
      num_clients='20',
      clients_per_round='5',
      client_dropout_probability='0.5',
      total_rounds='2',
      output_dir=str(self._folder.parent),
      experiment_name='mine',
      **values,
    )

  def _create(self, **values):
    """Returns an experiment without model and process, which take long."""
    with (
      self._flags(**values),
      mock.patch.object(models, 'create_model'),
      mock.patch.object(training_programs, 'create_training_program'),
    ):
      return experiment_lib.create_experiment(
        systems.SEMIFL, settings_lib.resolve(systems.SEMIFL)
      )

  def _open(self, experiment, **values):
    with self._flags(**values):
      return experiment_lib.open_folder(
        systems.SEMIFL, experiment.settings, experiment.privacy_key
      )

  @parameterized.named_parameters(
    ('public', {}, True),
    ('fixed', _PRIVATE | _FIXED, True),
    ('private', _PRIVATE, False),
  )
  def test_seed_says_who_takes_part_unless_it_is_secret(self, values, is_known):
    first, second = (self._create(**values).clients for _ in range(2))
    # Of 20 clients 5 are chosen in one of 15,504 ways.
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

  def test_key_of_an_experiment_that_was_begun_is_used_again(self):
    first = self._create(**_PRIVATE)
    folder = self._open(first, **_PRIVATE)
    self.assertEqual(privacy_key_file.read(self._file), first.privacy_key)
    del folder
    again = self._create(**_PRIVATE)
    self.assertEqual(again.privacy_key, first.privacy_key)
    self.assertEqual(again.clients.cohort(1), first.clients.cohort(1))
    self._open(again, **_PRIVATE)

  def test_plan_and_labels_alone_have_no_secret_and_nothing_is_written(self):
    with self._flags(**_PRIVATE):
      experiment = experiment_lib.create_experiment(
        systems.SEMIFL, settings_lib.resolve(systems.SEMIFL)
      )
      described = json.dumps(plan.describe(experiment))
      alone = experiment_lib.without_clients(experiment)
    self.assertNotIn(experiment.privacy_key.secret.hex(), described)
    self.assertNotIn(str(experiment.privacy_key.cohort_seed), described)
    self.assertFalse(self._folder.exists())
    self.assertIsNone(alone.privacy_key)
    self.assertEqual(alone.clients.cohort(1), [])

  def test_fixed_key_is_kept_nowhere(self):
    experiment = self._create(**_PRIVATE, **_FIXED)
    self._open(experiment, **_PRIVATE, **_FIXED)
    self.assertFalse(self._file.exists())

  def test_key_that_others_may_have_read_is_refused(self):
    self._open(self._create(**_PRIVATE), **_PRIVATE)
    self._file.chmod(0o644)
    with self.assertRaisesRegex(
      program.FlagError,
      f'^flag --output_dir={self._folder.parent}: .*/mine/privacy.key has mode'
      ' 644',
    ):
      self._create(**_PRIVATE)

  def _train_to(self, round_num):
    flags = {
      'num_clients': 20,
      'clients_per_round': 5,
      'client_dropout_probability': 0.5,
      'task': 'digits',
      **_PRIVATE,
    }
    trained_experiment.save(self._folder, round_num=round_num, **flags)

  def test_rounds_are_not_resumed_without_the_key(self):
    self._train_to(1)
    with self.assertRaisesRegex(
      program.FlagError,
      f'^flag --output_dir={self._folder.parent}: .*/mine/privacy.key, the'
      ' secret key that this run was begun with, is missing',
    ):
      self._open(self._create(**_PRIVATE), **_PRIVATE)
    self.assertFalse(self._file.exists())

  def test_complete_run_is_opened_without_the_key(self):
    self._train_to(2)
    self._open(self._create(**_PRIVATE), **_PRIVATE)
    self.assertFalse(self._file.exists())


class PrivacyRecordTest(absltest.TestCase):
  _VALUES = {
    'aggregator': 'differential_privacy',
    'noise_multiplier': 4.0,
    'clipping_norm': 0.5,
    'privacy_delta': 1e-5,
    'insecure_fixed_privacy_key': None,
    'num_clients': 100,
    'clients_per_round': 10,
  }

  def test_numbers_are_those_that_were_recorded(self):
    statement = privacy_record.describe(self._VALUES, 30)
    self.assertEqual(
      statement.epsilon,
      privacy.compute_epsilon(
        noise_multiplier=4.0,
        num_clients=100,
        clients_per_round=10,
        num_rounds=30,
        delta=1e-5,
      ),
    )
    self.assertEqual((statement.delta, statement.num_rounds), (1e-5, 30))
    self.assertEqual(statement.clipping_norm, 0.5)

  def test_nothing_is_said_where_nothing_was_asked_for(self):
    self.assertIsNone(privacy_record.describe({'aggregator': 'mean'}, 30))
    # A system in one place.
    self.assertIsNone(privacy_record.describe({}, 30))

  def test_no_epsilon_for_a_key_that_was_known(self):
    values = self._VALUES | {'insecure_fixed_privacy_key': '12' * 32}
    statement = privacy_record.describe(values, 30)
    self.assertIsNone(statement.epsilon)
    self.assertStartsWith(
      statement.headline, 'none: --insecure_fixed_privacy_key was given'
    )

  def test_no_epsilon_for_noise_of_the_seed(self):
    """Experiments of older versions have no record of that flag."""
    values = dict(self._VALUES)
    del values['insecure_fixed_privacy_key']
    statement = privacy_record.describe(values, 30)
    self.assertIsNone(statement.epsilon)
    self.assertRegex(statement.headline, '^none: .* follows from the seed')


if __name__ == '__main__':
  absltest.main()
