# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL, and the same server without clients.

The comparison shows how much the clients' unlabeled images improve the
accuracy: both runs train on the same labels, with one or more seeds. The
program takes the flags of `launch.train semifl` except --experiment_name.

  python -m launch.demo --seeds=0,1,2,3,4 --preset=semifl/digits_50_iid

With your own images, the defaults give a result within minutes: images are
scaled down, and the network is small. --help shows these defaults:

  python -m launch.demo --task=image_folder --image_dir=photos --help
"""

from collections.abc import Mapping, Sequence
import dataclasses
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import progress
from tff_semifl.experiment import saved_experiment
from tff_semifl.metrics import intervals
from tff_semifl.results import markdown
from tff_semifl.results import report
from tff_semifl.results import summary


class Result(NamedTuple):
  """The kept model's accuracy, in 0..1, and which predictions are correct."""

  accuracy: float
  is_right: np.ndarray

  def __str__(self) -> str:
    size = len(self.is_right)
    interval = intervals.of_accuracy(round(self.accuracy * size), size)
    return f'{self.accuracy:.1%} ({interval})'


def to_markdown(rows: Sequence[tuple[int, Result, Result]]) -> str:
  """Accuracies as a Markdown table.

  Each of `rows` has a seed, the result without clients, and SemiFL's result.
  """
  table_rows = []
  for seed, alone, semifl in rows:
    low, high = intervals.of_difference(alone.is_right, semifl.is_right)
    gain = 100 * (semifl.accuracy - alone.accuracy)
    shown = f'{gain:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})'
    table_rows.append([str(seed), str(alone), str(semifl), shown])
  if len(rows) > 1:
    alone, semifl = (
      [row[column].accuracy for row in rows] for column in (1, 2)
    )
    means = (
      summary.show_mean('accuracy', summary.summarize(each))
      for each in (alone, semifl)
    )
    gain = summary.compare(semifl, alone)
    shown = f'{summary.show_difference("accuracy", gain)} points'
    table_rows.append(['mean', *means, shown])
  return markdown.table(
    ('seed', 'labels alone', 'SemiFL', 'difference'), table_rows
  )


_Run = tuple[experiment_lib.Experiment, experiment_folder.ExperimentFolder]


def main(own: parts.Seeds, command: command_lib.Command) -> None:
  """Trains with and without clients for each seed, and writes a report."""
  seeds = own.read(command.experiment.seed)
  with settings.blame('clients_per_round', 0):
    if command.experiment.system.clients_per_round == 0:
      raise ValueError('must be positive, to compare with training without any')
  with settings.blame('experiment_name', command.run.experiment_name):
    if command.run.experiment_name is not None:
      raise ValueError('each seed has two experiments; leave the flag out')
  # All folders are opened before the first run begins.
  pairs = [_open_pair(command, seed) for seed in seeds]
  with command.context(command_lib.find_federation(*pairs[0][1])):
    rows = [
      (seed, *(_train(*run) for run in pair))
      for seed, pair in zip(seeds, pairs, strict=True)
    ]
  sizes = model_results.count_by_class(pairs[0][1][0])
  print(to_markdown(rows))
  print(
    f'\nAccuracies are over {intervals.describe_images(sizes)}, with 95%'
    ' intervals: Wilson, and of paired differences Agresti and Min (2005).'
  )
  if len(seeds) > 1:
    print('Means are over seeds, with standard deviations.')
  if command.experiment.validates:
    print('Accuracies are those on the validation images; nothing was tested.')
  print(f'Metrics, checkpoints, SavedModels: {command.run.output_dir}/')
  path = pathlib.Path(command.run.output_dir) / 'report.html'
  # Runs without clients come first: differences are relative to these runs.
  folders = [
    run[1].path for column in zip(*pairs, strict=True) for run in column
  ]
  with command_lib.blame_output(command.run):
    report.write(path, folders)
  print(f'Report, to be opened in a browser: {path}')


def create(system_name: str, changes: Mapping[str, Any]) -> command_lib.Command:
  """Creates the command; the task's quick settings are the defaults."""
  command = commands.create(system_name, changes)
  quick = command.experiment.data.task.quick
  # Some quick settings may not exist, for example with another model.
  return settings.change_present(command, {**quick, **changes})


def _open_pair(command: command_lib.Command, seed: int) -> tuple[_Run, _Run]:
  """Opens the run without clients, and the run with clients."""
  command = settings.change(command, {'seed': seed})
  with_clients = command.create_experiment()
  labels_alone = without_clients(with_clients)
  return (
    (labels_alone, command.open_folder(labels_alone)),
    (with_clients, command.open_folder(with_clients)),
  )


def without_clients(
  experiment: experiment_lib.Experiment,
) -> experiment_lib.Experiment:
  """The experiment without clients, trained on the server's labels alone.

  Process and server steps do not change; the name is the settings' default.
  """
  changed = settings.change(experiment.settings, {'clients_per_round': 0})
  return dataclasses.replace(
    experiment,
    settings=changed,
    run=dataclasses.replace(
      experiment.run, experiment_name=changed.default_name
    ),
    clients=experiment.clients.with_clients_per_round(0),
    # Without clients there is no privacy to protect.
    privacy_key=None,
  )


def _train(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
) -> Result:
  command_lib.run(experiment, folder, quiet=progress.is_quiet())
  with command_lib.blame_output(experiment.run):
    kept = saved_experiment.read_trained_model(folder.path)
  is_right = model_results.find_right(experiment, kept.weights)
  return Result(kept.accuracy, is_right)


if __name__ == '__main__':
  commands.run(main, parts.Seeds(), system_name='semifl', create_command=create)
