# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what a run tells those who watch it from outside."""

import contextlib
import csv
import io
import json
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import settings
from tff_semifl.experiments import running
from tff_semifl.launch import commands


class WatchingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _command(self, **changes):
    return settings.change(
      commands.create('semifl', {}),
      {
        'num_clients': 10,
        'clients_per_round': 2,
        'client_epochs': 0.2,
        'server_epochs': 0.5,
        'model_width': 1,
        'total_rounds': 2,
        'tensorboard': False,
        'output_dir': self._folder,
        'experiment_name': 'small',
      }
      | changes,
    )

  def _run(self, **changes):
    """Returns the folder, and what was written to standard error."""
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

  def test_json_lines_releases_and_log(self):
    folder, errors = self._run(
      log_format='json',
    )
    with (folder / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in errors.splitlines()]
    self.assertLen(lines, 3)
    for line, row in zip(lines, rows, strict=True):
      self.assertCountEqual(line, ['time', 'experiment', 'round', 'metrics'])
      self.assertRegex(line['time'], r'^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$')
      self.assertEqual(line['experiment'], 'small')
      self.assertEqual(line['round'], int(row.pop('round')))
      self.assertEqual(
        line['metrics'],
        {name: float(cell) if cell else None for name, cell in row.items()},
      )
    self.assertIsNone(lines[0]['metrics']['client/loss'])
    # How it is shown is no part of the experiment.
    _, errors = self._run()
    complete = 'was complete after round 2; nothing to train'
    self.assertEqual(errors, f'small: {complete}\n')
    log = (folder / 'log.txt').read_text().splitlines()
    for line, expected in zip(
      log,
      [
        'INFO compiling and running round 0',
        *(
          f'INFO round {line["round"]}/2, accuracy'
          f' {line["metrics"]["test/accuracy"]:.1%}'
          for line in lines
        ),
        f'INFO {complete}',
      ],
      strict=True,
    ):
      self.assertRegex(line, rf'^\S+ {re.escape(expected)}')


if __name__ == '__main__':
  absltest.main()
