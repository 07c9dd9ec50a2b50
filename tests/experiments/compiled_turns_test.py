# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that `jit_compile` compiles the turns of clients."""

from absl.testing import absltest
import pytest

from tests import small_digits
from tff_semifl import settings
from tff_semifl.experiments import python_experiment
from tff_semifl.tasks import digits


def _create(task, **changes):
  return python_experiment.create_experiment(
    'semifl',
    task,
    create_model=small_digits.create_small_model,
    jit_compile=True,
    num_clients=20,
    **changes,
  )


class CompiledTurnsTest(absltest.TestCase):
  def test_strong_views_that_cannot_be_compiled(self):
    # Digits have those of KerasCV, where no others are chosen.
    with self.assertRaisesRegex(
      settings.SettingError,
      '^jit_compile=True: XLA cannot compile Equalization, .*'
      'another --strong_augmentation',
    ):
      _create(digits.Digits())

  @pytest.mark.slow
  def test_turns_are_compiled(self):
    process = _create(small_digits.SmallDigits()).training_program.process
    graphs = process.next.to_building_block().proto.SerializeToString()
    self.assertIn(b'_XlaMustCompile', graphs)


if __name__ == '__main__':
  absltest.main()
