# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of logs, JSON lines and release managers of a run."""

import contextlib
import csv
import io
import math
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow_federated as tff

from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.experiment import running

_THERE = __name__


class _Recorder(tff.program.ReleaseManager):
  """Keeps all released values."""

  def __init__(self, values=None):
    self.values = values
    self.released = []

  async def release(self, value, key):
    self.released.append((key, value))


class _Refuser(tff.program.ReleaseManager):
  """Fails after round 0."""

  async def release(self, value, key):
    if key:
      raise ConnectionError('nobody is there')


RECORDER = _Recorder()
REFUSER = _Refuser()
CREATED = []


def create_recorder(path, values):
  if not (path / 'hparams.json').exists():
    raise ValueError('there is no experiment')
  CREATED.append(_Recorder(values))
  return CREATED[-1]


class WatchingTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # The process does not depend on log, lines and managers.
    cls.enterClassContext(small_systems.building_once('semifl'))

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _command(self, **changes):
    return settings.change(
      commands.create('semifl', {}),
      {
        'num_clients': 10,
        'clients_per_round': 2,
        # With this threshold, clients train.
        'confidence_threshold': 0.11,
        'client_epochs': 0.2,
        'server_epochs': 0.5,
        **small_digits.SETTINGS,
        'total_rounds': 2,
        'tensorboard': False,
        'output_dir': self._folder,
        'experiment_name': 'small',
      }
      | changes,
    )

  def _run(self, **changes):
    """The folder, and the output on standard error."""
    command = self._command(**changes)
    experiment = command.create_experiment()
    folder = command.open_folder(experiment)
    errors = io.StringIO()
    with (
      contextlib.redirect_stderr(errors),
      command.context(),
      mock.patch.object(running.saved_model, 'export_saved_model'),
    ):
      running.run(experiment, folder)
    return folder.path, errors.getvalue()

  @pytest.mark.slow
  def test_releases_and_log(self):
    folder, _ = self._run(
      release_managers=(f'{_THERE}:RECORDER', f'{_THERE}:create_recorder'),
    )
    with (folder / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    [created] = CREATED
    for recorder in (RECORDER, created):
      self.assertEqual([key for key, _ in recorder.released], [0, 1, 2])
      for (_, value), row in zip(recorder.released, rows, strict=True):
        for name, number in value.items():
          self.assertEqual('' if math.isnan(number) else str(number), row[name])
    self.assertEqual(created.values['system'], 'semifl')
    self.assertEqual(created.values['num_clients'], 10)

    # The display of progress is not part of the experiment.
    _, errors = self._run()
    complete = 'was complete after round 2; nothing to train'
    self.assertEqual(errors, f'small: {complete}\n')
    log = (folder / 'log.txt').read_text().splitlines()
    for line, expected in zip(
      log,
      [
        'INFO test accuracy is over 360 images',
        'INFO 7 of 1387 images have no client',
        'INFO compiling and running round 0',
        *(
          f'INFO round {row["round"]}/2, accuracy'
          f' {float(row["test/accuracy"]):.1%}'
          for row in rows
        ),
        f'INFO {complete}',
      ],
      strict=True,
    ):
      self.assertRegex(line, rf'^\S+ {re.escape(expected)}')

  @pytest.mark.slow
  def test_failed_release_is_an_error_of_the_flag(self):
    with self.assertRaises(settings.SettingError) as raised:
      self._run(release_managers=(f'{_THERE}:REFUSER',))
    self.assertEqual(
      program.describe(raised.exception),
      f'flag --release_managers={_THERE}:REFUSER: round 1 was not released'
      ' (ConnectionError: nobody is there); with this mended, or without it,'
      ' the same command goes on from the last complete round',
    )

  @parameterized.parameters(
    ('nothing', 'must be of the form package.module:NAME'),
    (f'{_THERE}:NOTHING', f'module {_THERE} has no NOTHING'),
    (
      f'{_THERE}:__doc__',
      r'is a str; must be a tff.program.ReleaseManager, or',
    ),
  )
  def test_names_are_checked_before_data_are_loaded(self, name, message):
    with self.assertRaisesRegex(
      settings.SettingError, f'^release_managers={name}: {message}'
    ):
      self._command(release_managers=(name,)).check_folder()


if __name__ == '__main__':
  absltest.main()
