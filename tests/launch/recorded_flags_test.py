# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of taking flags from an experiment."""

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import data_flags
from launch import image_folder_flags
from launch import recorded_flags
from tff_semifl.programs import saved_experiment


class RecordedFlagsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(flagsaver.flagsaver())

  def _adopt(self, **values):
    recorded_flags.adopt(values, may_be_given=[data_flags.DATA_DIR])

  def test_flags_have_the_values_that_they_had(self):
    values = {
      'task': 'cifar10',
      'seed': 7,
      'model_width': None,
      'learning_rate': 0.25,
      'clip_norm': 2,
      'jit_compile': True,
      'workers': ['a:1', 'b:2'],
      'partition': None,
    }
    self._adopt(**values)
    self.assertEqual({name: flags.FLAGS[name].value for name in values}, values)

  def test_they_were_not_given_for_all_that(self):
    # A task that has no use for a flag refuses it where it was typed.
    self._adopt(
      task='image_folder', image_dir='photos', num_clients=3, partition=None
    )
    self.assertEqual(image_folder_flags.resolve().image_dir, 'photos')

  def test_some_may_be_given_anew(self):
    with flagsaver.as_parsed(data_dir='here'):
      self._adopt(data_dir='there', seed=7)
      self.assertEqual(data_flags.DATA_DIR.value, 'here')
      self.assertEqual(data_flags.SEED.value, 7)

  @parameterized.parameters(
    ({'no_such_flag': 3}, 'another version .* has not: --no_such_flag=3$'),
    # A flag, but of another program.
    ({'plot_files': ['a.png']}, 'another version .*: --plot_files='),
    ({'task': 'mnist'}, '--task=mnist: value should be one of <cifar10'),
    ({'seed': -1}, '--seed=-1: -1 is not an integer in the range'),
    ({'seed': 'three'}, '--seed=three: '),
    ({'learning_rate': 0}, '--learning_rate=0: .*must be above 0'),
    ({'learning_rate': [1]}, '--learning_rate='),
  )
  def test_values_that_cannot_be(self, values, message):
    with self.assertRaisesRegex(saved_experiment.SavedExperimentError, message):
      self._adopt(**values)

  def test_flag_that_is_not_to_be_chosen(self):
    with (
      flagsaver.as_parsed(seed='3'),
      self.assertRaisesRegex(
        saved_experiment.SavedExperimentError,
        '^was run with --seed=7, which is not to be chosen now; leave --seed',
      ),
    ):
      self._adopt(seed=7)


if __name__ == '__main__':
  absltest.main()
