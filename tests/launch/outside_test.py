# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of users' systems, tasks and models."""

import json
import pathlib
import sys
from unittest import mock

from absl.testing import absltest
import pytest

from tests import forked_programs
from tests.experiment import saved_run
from tff_semifl import settings
from tff_semifl.experiment import system_registry

_MODULE = '''
import dataclasses

import tensorflow as tf

from tasks import digits
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.data import sources
from tff_semifl.experiment import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class SurerFix(fix_mix.Fix):
  """Trains on the fix loss alone, on fewer images."""

  surer_by: float = settings.setting(
    0.0, 'What is added to the threshold.', settings.FRACTION
  )

  def select(self, client, labels):
    threshold = self.selection.confidence.confidence_threshold + self.surer_by
    return labels.confidences >= min(threshold, 1.0)


MY_SYSTEM = averaging.Alternating(client=SurerFix())


@dataclasses.dataclass(frozen=True, kw_only=True)
class FewDigits(image_task.Task):
  """The digits up to a class."""

  last_digit: int = settings.setting(3, 'The last.', settings.between(1, 9))

  def create(self):
    task = digits.Digits().create()

    def load():
      data = task.load()
      return sources.TaskData(
        *(
          part.select((part.labels <= self.last_digit).nonzero()[0])
          for part in (data.train, data.test)
        )
      )

    return dataclasses.replace(
      task,
      load=load,
      class_names=task.class_names[: self.last_digit + 1],
      num_labeled=8,
      strong_augmentation=task.weak_augmentation,
    )


def create_model(task, seed):
  tf.keras.utils.set_random_seed(seed)
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )
'''
_FLAGS = (
  '--task=my_research:FewDigits',
  '--model=my_research:create_model',
  '--num_clients=4',
  '--clients_per_round=2',
  '--client_epochs=1',
  '--confidence_threshold=0.25',
  '--surer_by=0.05',
  '--last_digit=2',
  '--num_labeled=9',
)


class OutsideTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    (self.folder / 'my_research.py').write_text(_MODULE)

  def _run(self, program, *arguments):
    result = forked_programs.run(
      program,
      *arguments,
      '--verbosity=-1',
      variables={'PYTHONPATH': str(self.folder)},
    )
    self.assertEqual(result.returncode, 0, result.stderr)
    return result

  @pytest.mark.slow
  def test_trains_exports_and_evaluates(self):
    self._run(
      'launch.train',
      'my_research:MY_SYSTEM',
      *_FLAGS,
      '--total_rounds=2',
      f'--output_dir={self.folder}',
    )
    trained = self.folder / 'MY_SYSTEM_FewDigits_9_iid_seed0'
    hparams = json.loads((trained / 'hparams.json').read_text())
    self.assertEqual(hparams['system'], 'my_research:MY_SYSTEM')
    self.assertEqual(hparams['flags']['task'], 'my_research:FewDigits')
    self.assertEqual(hparams['flags']['model'], 'my_research:create_model')
    self.assertEqual(hparams['flags']['surer_by'], 0.05)
    rows = saved_run.read_rows(trained)
    self.assertLen(rows, 3)

    self._run('launch.export_saved_model', f'--experiment={trained}')
    printed = self._run(
      'launch.evaluate',
      f'--exported_model={trained / "export"}',
      '--task=my_research:FewDigits',
      '--last_digit=2',
    ).stdout
    accuracy = float(rows[-1]['test/accuracy'])
    self.assertIn(f'accuracy: {accuracy:.1%} of', printed)

  def test_what_is_not_there_is_said(self):
    self.enter_context(
      mock.patch.object(sys, 'path', [*sys.path, str(self.folder)])
    )
    for system, message in (
      ('my_research:YOUR_SYSTEM', 'module my_research has no YOUR_SYSTEM'),
      ('my_research:FewDigits', 'is a FewDigits; must be a System'),
    ):
      with self.subTest(system):
        with self.assertRaisesRegex(
          settings.SettingError, f'^system={system}: {message}'
        ):
          system_registry.load(system)


if __name__ == '__main__':
  absltest.main()
