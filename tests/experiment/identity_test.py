# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that no folder is taken for that of another experiment."""

import dataclasses
import json
import pathlib
import sys
import types
from unittest import mock

from absl.testing import absltest
import tensorflow as tf

from tasks import digits
from tests import small_systems
from tests.experiment import small_own_task
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import flfl
from tff_semifl.cli import commands
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.files import durable_files

_OTHER = durable_files.OutputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Halving(client_parts.Weighting):
  """A part with a field that is no setting."""

  share: float = 0.5

  def weigh(self, client):
    return tf.constant(self.share)


_MODULE = """
import dataclasses
from tff_semifl.algorithms import client_parts, fix_mix
from tff_semifl.algorithms import averaging

@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(client_parts.Weighting):
  share: float = 0.5

  def weigh(self, update):
    return self.share * update.num_trained_on + 1

SYSTEM = averaging.Alternating(client=fix_mix.FixMix(weighting=Own()))
"""


class IdentityTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(small_systems.without_process('semifl'))
    self.output_dir = self.create_tempdir().full_path

  def _create(
    self, client=None, task=None, create_model=small_own_task.create_model
  ):
    return python_experiment.create_experiment(
      averaging.Alternating(client=client or fix_mix.FixMix()),
      task or small_own_task.create_task(),
      create_model=create_model,
      num_clients=2,
      clients_per_round=1,
      total_rounds=3,
      output_dir=self.output_dir,
      experiment_name='mine',
    )

  def _open(self, *args, **kwargs):
    experiment_folder.open_folder(self._create(*args, **kwargs))

  @property
  def _hparams_path(self):
    return pathlib.Path(self.output_dir, 'mine', 'hparams.json')

  def test_another_part(self):
    self._open(fix_mix.FixMix())
    with self.assertRaisesRegex(
      _OTHER,
      r'system\.client\.weighting is None and not .*:LearningStatus',
    ):
      self._open(fix_mix.FixMix(weighting=flfl.LearningStatus()))
    self._open(fix_mix.FixMix(weighting=None))

  def test_another_value_of_a_field_that_is_no_setting(self):
    self._open(fix_mix.FixMix(weighting=_Halving()))
    with self.assertRaisesRegex(
      _OTHER, r'weighting\.share is 0\.5 and not 0\.6'
    ):
      self._open(fix_mix.FixMix(weighting=_Halving(share=0.6)))

  def test_another_task_of_the_same_images(self):
    self._open(task=small_own_task.create_task())
    with self.assertRaisesRegex(_OTHER, r'task\.prepared\.\w+_augmentation'):
      self._open(task=small_own_task.create_task(flip=False))
    task = dataclasses.replace(
      small_own_task.create_task(),
      weak_augmentation=lambda images, seed: images,
    )
    with self.assertRaisesRegex(_OTHER, r'task\.prepared\.weak_augmentation'):
      self._open(task=task)
    self._open(task=small_own_task.create_task())

  def test_other_images(self):
    for task in (
      small_own_task.create_task(),
      dataclasses.replace(small_own_task.create_task(), data_description=None),
    ):
      self.output_dir = self.create_tempdir().full_path
      other = small_own_task.create_task(small_own_task.PIXELS + 1)
      self._open(task=task)
      with self.assertRaisesRegex(_OTHER, 'other data'):
        self._open(
          task=dataclasses.replace(
            task,
            load=other.load,
            data_description=task.data_description and other.data_description,
          )
        )

  def test_another_function_of_a_name(self):
    def create(units):
      return lambda task, seed: small_own_task.create_model(task, seed, units)

    self._open(create_model=create(2))
    with self.assertRaisesRegex(_OTHER, r'model\.function'):
      # Closures of the same code, whose models have the same shapes.
      self._open(create_model=create(2.0))
    self._open(create_model=create(2))

  def test_what_cannot_be_recorded_is_refused_before_anything_is_built(self):
    thing = tf.keras.layers.Dense(2)
    for kind, create in (
      (
        'model',
        lambda: self._open(create_model=lambda task, seed: thing and None),
      ),
      (
        'system',
        lambda: self._open(fix_mix.FixMix(weighting=_Halving(share=thing))),
      ),
      (
        'task',
        lambda: self._open(
          task=dataclasses.replace(
            small_own_task.create_task(),
            weak_augmentation=lambda images, seed: thing(images),
          )
        ),
      ),
    ):
      with self.assertRaisesRegex(settings.SettingError, f'^{kind}=.*:Dense'):
        create()

  def test_folder_of_an_earlier_version(self):
    experiment = self._create(
      fix_mix.FixMix(weighting=_Halving()), digits.Digits()
    )
    experiment_folder.open_folder(experiment)
    recorded = json.loads(self._hparams_path.read_text())
    self.assertIsNotNone(recorded.pop('parts'))
    self._hparams_path.write_text(json.dumps(recorded))
    with self.assertRaisesRegex(_OTHER, 'earlier version'):
      experiment_folder.open_folder(experiment)


class CommandLineTest(absltest.TestCase):
  """Programs resume runs of Python by names, and the reverse."""

  def setUp(self):
    super().setUp()
    self.enter_context(small_systems.without_process('semifl'))
    self.changes = {
      'num_clients': 2,
      'clients_per_round': 1,
      'total_rounds': 3,
      'output_dir': self.create_tempdir().full_path,
    }

  def _command(self, system_name, **changes):
    """Returns a command that trains `small_own_task.create_model`."""
    model = f'{small_own_task.__name__}:create_model'
    return commands.create(
      system_name, {'model': model, **self.changes, **changes}
    )

  def _open(self, system):
    experiment = python_experiment.create_experiment(
      system,
      digits.Digits(),
      create_model=small_own_task.create_model,
      **self.changes,
    )
    experiment_folder.open_folder(experiment)
    return experiment

  def test_same_experiment(self):
    run = self._open(averaging.Alternating(client=fix_mix.FixMix())).run
    command = self._command('semifl')
    command.check_folder()
    command = self._command('composed_semifl', experiment_name=run.path.name)
    with self.assertRaisesRegex(
      settings.SettingError, 'of semifl and not composed_semifl'
    ):
      command.check_folder()
    # The default folder names are the same, too.
    self.assertLen(list(run.path.parent.iterdir()), 1)

  def test_reverse(self):
    self._command('semifl').check_folder()
    self._open('semifl')
    self._open(system_registry.SYSTEMS['semifl'])
    self.assertLen(list(pathlib.Path(self.changes['output_dir']).iterdir()), 1)

  def test_own_module_that_has_changed(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'outside.py')

    def load(source):
      path.write_text(source)
      module = types.ModuleType('outside')
      module.__file__ = str(path)
      self.enter_context(mock.patch.dict(sys.modules, outside=module))
      exec(compile(source, path, 'exec'), module.__dict__)
      return module.SYSTEM

    system = load(_MODULE)
    self.assertEqual(system_registry.find_name(system), 'outside:SYSTEM')
    self._open(system)
    self._command('outside:SYSTEM').check_folder()
    for change in (('0.5', '0.6'), ('+ 1', '+ 2')):
      load(_MODULE.replace(*change))
      with self.assertRaisesRegex(
        settings.SettingError, r'system\.client\.weighting'
      ):
        self._command('outside:SYSTEM').check_folder()

  def test_what_no_program_finds(self):
    for system in (
      'tff_semifl.algorithms.averaging:Alternating',
      '__main__:MINE',
    ):
      with self.assertRaisesRegex(settings.SettingError, f'^system={system}: '):
        self._command(system)
    for name, value in (
      ('task', 'own_data'),
      ('task', '__main__:Mine'),
      ('model', '__main__:create_model'),
      ('model', 'some_module:f.<locals>.create_model'),
    ):
      with self.assertRaisesRegex(
        settings.SettingError, f'^{name}={value}: .*program'
      ):
        self._command('semifl', **{name: value})


if __name__ == '__main__':
  absltest.main()
