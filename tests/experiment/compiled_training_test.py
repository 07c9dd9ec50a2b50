# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that `jit_compile` compiles the updates of clients."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tasks import digits
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.experiment import python_experiment


def _create(task, **chosen):
  return python_experiment.create_experiment(
    'semifl',
    task,
    create_model=small_digits.create_small_model,
    num_clients=20,
    **chosen,
  )


class CompiledTurnsTest(parameterized.TestCase):
  def test_strong_views_that_cannot_be_compiled(self):
    # The default for digits is KerasCV's augmentation.
    with self.assertRaisesRegex(
      settings.SettingError,
      '^jit_compile=True: XLA cannot compile Equalization, .*'
      'another --strong_augmentation',
    ):
      _create(digits.Digits(), jit_compile=True)

  @parameterized.parameters(
    (None, [], False),
    (None, ['a GPU'], True),
    (False, ['a GPU'], False),
    (True, [], True),
  )
  def test_form_of_training(self, jit_compile, gpus, form):
    with (
      small_systems.without_process('semifl') as build,
      mock.patch.object(tf.config, 'list_physical_devices', lambda _: gpus),
    ):
      _create(small_digits.SmallDigits(), jit_compile=jit_compile)
    [ingredients] = build.call_args.args
    self.assertIs(ingredients.jit_compile, form)

  def test_default_on_a_gpu_leaves_out_what_cannot_be_compiled(self):
    with (
      small_systems.without_process('semifl') as build,
      mock.patch.object(tf.config, 'list_physical_devices', lambda _: ['GPU']),
      self.assertLogs(level='WARNING') as logs,
    ):
      build.side_effect = [
        settings.SettingError('jit_compile', True, 'XLA has no such operation'),
        mock.DEFAULT,
      ]
      experiment = _create(small_digits.SmallDigits())
    self.assertIn('XLA has no such operation', logs.output[0])
    forms = [call.args[0].jit_compile for call in build.call_args_list]
    self.assertEqual(forms, [True, False])
    self.assertIsNone(experiment.settings.model.jit_compile)


if __name__ == '__main__':
  absltest.main()
