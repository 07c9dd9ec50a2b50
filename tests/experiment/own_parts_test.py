# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of users' parts that cannot be compared."""

import dataclasses
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tasks import digits
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.cli import commands
from tff_semifl.experiment import python_experiment

_IMAGES = np.full([8, 4, 4], 200, np.uint8)
_LABELS = np.arange(8) % 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Strong(client_parts.Weighting):
  strength: float = settings.setting(1.0, 'A setting.')

  def weigh(self, client):
    raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class _AlsoStrong(client_parts.Alignment):
  strength: float = settings.setting(2.0, 'Another of the same name.')

  def label(self, client, logits):
    raise NotImplementedError


def _part_with(name):
  """A part with a setting of this name."""
  kind = dataclasses.make_dataclass(
    'Part',
    [(name, float, settings.setting(0.5, 'A setting.'))],
    bases=(client_parts.Weighting,),
    namespace={'__module__': __name__, 'weigh': _Strong.weigh},
    frozen=True,
    kw_only=True,
  )
  return kind()


class NamesTest(parameterized.TestCase):
  """Tests that the names of settings are unique across parts."""

  def _check(self, client, name, *owners, task=None, of_command=True):
    system = averaging.Alternating(client=client)
    outside = types.ModuleType('outside')
    outside.SYSTEM = system
    ways = [
      lambda: python_experiment.create_experiment(
        system, digits.Digits() if task is None else task, clients_per_round=1
      )
    ]
    if of_command:
      ways.append(lambda: commands.create('outside:SYSTEM', {}))
    with mock.patch.dict(sys.modules, outside=outside):
      for create in ways:
        with self.assertRaises(settings.SettingError) as caught:
          create()
        self.assertEqual(caught.exception.name, name)
        for owner in owners:
          self.assertIn(owner, caught.exception.problem)

  def test_two_own_parts(self):
    self._check(
      fix_mix.FixMix(weighting=_Strong(), alignment=_AlsoStrong()),
      'strength',
      f'{__name__}:_Strong',
      f'{__name__}:_AlsoStrong',
    )

  @parameterized.parameters(
    ('momentum', 'tff_semifl.algorithms.training_settings:ClientOptimizer'),
    ('seed', 'tff_semifl.experiment.experiment_settings:Seed'),
    ('output_dir', 'tff_semifl.experiment.run_settings:RunSettings'),
    ('runtime', 'tff_semifl.experiment.runtimes:ChosenRuntime'),
  )
  def test_own_part_and_the_rest_of_the_experiment(self, name, owner):
    self._check(
      fix_mix.FixMix(weighting=_part_with(name)),
      name,
      f'{__name__}:Part',
      owner,
    )


if __name__ == '__main__':
  absltest.main()
