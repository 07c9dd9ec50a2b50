# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a folder of one experiment is not used for another."""

import dataclasses
import linecache
import pathlib
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
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
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.files import durable_files


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Halving(client_parts.Weighting):
  """A part with a field that is not a setting."""

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
  def _identify(
    self, client=None, task=None, create_model=small_own_task.create_model
  ):
    """The identity of an experiment, as recorded in `hparams.json`."""
    chosen = experiment_settings.create(
      'semifl',
      averaging.Alternating(client=client or fix_mix.FixMix()),
      task_registry.ChosenTask(
        task=own_data.create_part(task or small_own_task.create_task())
      ),
      {'num_clients': 2, 'clients_per_round': 1, 'model': create_model},
    )
    return hparams_file.create({}, parts=chosen.identify()).parts

  def _assert_differ(self, first, second, pattern):
    found = restored_settings.find_other_part(first, second)
    self.assertRegex(found, pattern)

  def test_another_part(self):
    mix = self._identify(fix_mix.FixMix())
    self._assert_differ(
      mix,
      self._identify(fix_mix.FixMix(weighting=flfl.LearningStatus())),
      r'system\.client\.weighting is None and not .*:LearningStatus',
    )
    self.assertEqual(self._identify(fix_mix.FixMix(weighting=None)), mix)

  def test_another_value_of_a_field_that_is_no_setting(self):
    half, more = (
      self._identify(fix_mix.FixMix(weighting=_Halving(share=share)))
      for share in (0.5, 0.6)
    )
    self._assert_differ(half, more, r'weighting\.share is 0\.5 and not 0\.6')

  def test_another_task_of_the_same_images(self):
    task = small_own_task.create_task()
    before = self._identify(task=task)
    self.assertEqual(self._identify(task=small_own_task.create_task()), before)
    for other in (
      small_own_task.create_task(flip=False),
      dataclasses.replace(task, weak_augmentation=lambda images, seed: images),
    ):
      self._assert_differ(
        before, self._identify(task=other), r'task\.prepared\.\w+_augment'
      )

  def test_other_images(self):
    described = {
      own_data.create_part(
        dataclasses.replace(
          small_own_task.create_task(pixels), data_description=None
        )
      ).prepared.data_description
      for pixels in (small_own_task.PIXELS, small_own_task.PIXELS + 1)
    }
    self.assertLen(described, 2)

  def test_another_function_of_a_name(self):
    def create(units):
      return lambda task, seed: small_own_task.create_model(task, seed, units)

    before = self._identify(create_model=create(2))
    # Closures with the same code, whose models have the same shapes.
    self._assert_differ(
      before, self._identify(create_model=create(2.0)), r'model\.function'
    )
    self.assertEqual(self._identify(create_model=create(2)), before)

  def test_what_cannot_be_recorded_is_refused(self):
    thing = tf.keras.layers.Dense(2)
    for kind, changes in (
      ('model', {'create_model': lambda task, seed: thing and None}),
      ('system', {'client': fix_mix.FixMix(weighting=_Halving(share=thing))}),
      (
        'task',
        {
          'task': dataclasses.replace(
            small_own_task.create_task(),
            weak_augmentation=lambda images, seed: thing(images),
          )
        },
      ),
    ):
      with self.assertRaisesRegex(settings.SettingError, f'^{kind}=.*:Dense'):
        self._identify(**changes)


class CommandLineTest(absltest.TestCase):
  """Tests that programs resume runs of Python by name, and vice versa."""

  def setUp(self):
    super().setUp()
    self.enter_context(small_systems.without_computations())
    self.changes = {
      'num_clients': 2,
      'clients_per_round': 1,
      'total_rounds': 3,
      'output_dir': self.create_tempdir().full_path,
    }

  def _command(self, system_name, **changes):
    """A command that trains `small_own_task.create_model`."""
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


# Cells that define `mine`, with a number.
_CELLS = {
  'partition': """
def mine(labels, num_classes, num_clients, seed):
  shares = [range(k, len(labels), num_clients) for k in range(num_clients)]
  return shares[::{}]
""",
  'strong_augmentation': """
def mine(images, seed):
  return images + {}
""",
  'aggregator': """
import tensorflow_federated as tff

class Mine(tff.aggregators.UnweightedAggregationFactory):
  def create(self, value_type):
    return {}

mine = Mine()
""",
  'metrics': """
def mine(labels, logits):
  return {} * logits.mean()
""",
  'selection': """
def mine(client, labels):
  return labels.confidences > {}
""",
}


def _run_cell(name, number, *, has_source=True):
  """Runs a cell as a notebook does, and returns `mine`."""
  source = _CELLS[name].format(number)
  file = f'<{name}-{number}-{has_source}>'
  if has_source:
    linecache.cache[file] = len(source), None, source.splitlines(True), file
  # The module `__main__` is the program of the tests.
  names = {'__name__': '__main__'}
  exec(compile(source, file, 'exec'), names)
  return names['mine']


class NotebookTest(parameterized.TestCase):
  """Runs with functions of cells."""

  def setUp(self):
    super().setUp()
    self.enter_context(small_systems.without_computations())
    self.path = self.create_tempdir().full_path

  def _open(self, **changes):
    experiment = python_experiment.create_experiment(
      'composed_semifl',
      digits.Digits(),
      create_model=small_own_task.create_model,
      **{'num_clients': 2, 'clients_per_round': 1, 'total_rounds': 3},
      **{'output_dir': self.path, 'experiment_name': 'run', **changes},
    )
    folder = experiment_folder.open_folder(experiment)
    return hparams_file.read(folder.path / hparams_file.NAME)

  @parameterized.parameters(*_CELLS)
  def test_only_the_same_cell_goes_on(self, name):
    def open_with(*cell, **options):
      mine = _run_cell(name, *cell, **options)
      value = [mine, 'macro_f1'] if name == 'metrics' else mine
      return self._open(**{name: value})

    recorded = open_with(1).flags[name]
    self.assertIn('__main__:', str(recorded))
    self.assertEqual(open_with(1).flags[name], recorded)
    for options in ({}, {'has_source': False}):
      with self.assertRaisesRegex(
        durable_files.OutputError, f'{name}.* had other content or code'
      ):
        open_with(-1, **options)

  def test_metrics_may_be_added_and_left_out(self):
    self._open()
    self._open(metrics=[_run_cell('metrics', 1)])
    self._open(metrics=['macro_f1'])


if __name__ == '__main__':
  absltest.main()
