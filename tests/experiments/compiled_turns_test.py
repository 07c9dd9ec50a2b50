# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that `jit_compile` compiles the turns of clients."""

from absl.testing import absltest
from absl.testing import parameterized

from tasks import digits
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.experiments import python_experiment
from tff_semifl.training import turn_form


def _create(task, *, jit_compile):
  return python_experiment.create_experiment(
    'semifl',
    task,
    create_model=small_digits.create_small_model,
    jit_compile=jit_compile,
    num_clients=20,
  )


class CompiledTurnsTest(parameterized.TestCase):
  def test_strong_views_that_cannot_be_compiled(self):
    # Digits have those of KerasCV, where no others are chosen.
    with self.assertRaisesRegex(
      settings.SettingError,
      '^jit_compile=True: XLA cannot compile Equalization, .*'
      'another --strong_augmentation',
    ):
      _create(digits.Digits(), jit_compile=True)

  @parameterized.parameters(
    (False, turn_form.DYNAMIC), (True, turn_form.COMPILED)
  )
  def test_form_of_turns(self, jit_compile, form):
    with small_systems.without_process('semifl') as build:
      _create(small_digits.SmallDigits(), jit_compile=jit_compile)
    [ingredients] = build.call_args.args
    self.assertIs(ingredients.turn_form, form)


if __name__ == '__main__':
  absltest.main()
