# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL, and the same server in the same steps without clients.

The comparison shows how much the clients' unlabeled images improve the
accuracy: both runs train on the same labels, with one or more seeds. The
program takes the flags of `launch.train semifl` except --experiment_name.

  python -m launch.demo --seeds=0,1,2,3,4 --preset=semifl/digits_50_iid

Your own images are scaled down, and the network is a small one, so that there
is a result within minutes; --help has these defaults:

  python -m launch.demo --task=image_folder --image_dir=photos --help
"""

from collections.abc import Mapping, Sequence
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_results
from tff_semifl.metrics import intervals
from tff_semifl.results import markdown
from tff_semifl.results import report
from tff_semifl.results import summary


class Result(NamedTuple):
  """The last test accuracy, in [0, 1], and the minutes of all rounds.

  `is_right`, bool [images], is True for correctly classified test images.
  """

  accuracy: float
  minutes: float
  is_right: np.ndarray


def to_markdown(rows: Sequence[tuple[int, Result, Result]]) -> str:
  """Accuracies and minutes as a Markdown table.

  `rows` have, for each seed, the results of the labels alone and of SemiFL.
  """
  table_rows = [
    (
      str(seed),
      _show(alone),
      _show(semifl),
      _show_difference(alone, semifl),
      f'{alone.minutes:.1f} + {semifl.minutes:.1f}',
    )
    for seed, alone, semifl in rows
  ]
  if len(rows) > 1:
    alone, semifl = (
      [result.accuracy for result in column]
      for column in list(zip(*rows, strict=True))[1:]
    )
    of_alone, found = summary.summarize(alone), summary.summarize(semifl)
    gain = summary.compare(semifl, alone)
    table_rows.append(
      (
        'mean',
        summary.show_mean('accuracy', of_alone),
        summary.show_mean('accuracy', found),
        f'{summary.show_difference("accuracy", gain)} points',
        '',
      )
    )
  return markdown.table(
    ('seed', 'labels alone', 'SemiFL', 'difference', 'minutes'), table_rows
  )


def describe(class_sizes: Sequence[int], num_seeds: int) -> str:
  """The caption of the table."""
  text = (
    f'Accuracies are over {intervals.describe_images(class_sizes)}, with 95%'
    ' intervals: Wilson, and of paired differences Agresti and Min (2005).'
  )
  if num_seeds > 1:
    text += ' Means are over seeds, with standard deviations.'
  return text


def _show(result: Result) -> str:
  num_images = len(result.is_right)
  interval = intervals.of_accuracy(
    round(result.accuracy * num_images), num_images
  )
  return f'{result.accuracy:.1%} ({interval})'


def _show_difference(before: Result, after: Result) -> str:
  low, high = intervals.of_difference(before.is_right, after.is_right)
  difference = after.accuracy - before.accuracy
  num_images = len(after.is_right)
  return (
    f'{100 * difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}),'
    f' {round(difference * num_images):+d} of {num_images} images'
  )


def main(own: parts.Seeds, command: command_lib.Command) -> None:
  """Trains with and without clients, with each seed."""
  seeds = own.read(command.experiment.seed)
  with settings.blame('clients_per_round', 0):
    if command.experiment.system.clients_per_round == 0:
      raise ValueError('must be positive, to compare with training without any')
  commands.check_has_no_name(command, 'each seed has two experiments')
  # All folders are opened before the first run begins.
  pairs = [_create_pair(command, seed) for seed in seeds]
  with command.context(command_lib.find_federation(*pairs[0][1])):
    rows = [
      (seed, _train(labels_alone), _train(with_clients))
      for seed, (labels_alone, with_clients) in zip(seeds, pairs, strict=True)
    ]
  print(to_markdown(rows))
  sizes = model_results.count_by_class(pairs[0][1].experiment)
  print(f'\n{describe(sizes, len(seeds))}')
  if command.experiment.validates:
    print('Accuracies are those on the validation images; nothing was tested.')
  print(f'Metrics, checkpoints, SavedModels: {command.run.output_dir}/')
  path = pathlib.Path(command.run.output_dir) / 'report.html'
  # Runs without clients come first, as the baseline of differences.
  folders = [
    run.folder.path for column in zip(*pairs, strict=True) for run in column
  ]
  with command_lib.blame_output(command.run):
    report.write(path, folders)
  print(f'Report, to be opened in a browser: {path}')


def create(system_name: str, changes: Mapping[str, Any]) -> command_lib.Command:
  """Creates the command, with quick defaults."""
  command = commands.create(system_name, changes)
  quick = command.experiment.data.task.quick
  # Chosen parts, such as another model, may lack some quick settings.
  return settings.change_present(command, {**quick, **changes})


def _create_pair(
  command: command_lib.Command, seed: int
) -> tuple[commands.Run, commands.Run]:
  """Opens the run of the labels alone, and the run with clients."""
  with_clients = commands.open_run(command, {'seed': seed})
  labels_alone = experiment_lib.without_clients(with_clients.experiment)
  return (
    commands.Run(labels_alone, command.open_folder(labels_alone)),
    with_clients,
  )


def _train(run: commands.Run) -> Result:
  kept = commands.train(run)
  # From the table, which includes rounds before an interruption.
  minutes = metrics_table.read_results(run.folder.metrics_path).minutes
  is_right = model_results.find_right(run.experiment, kept.weights)
  return Result(kept.accuracy, minutes, is_right)


if __name__ == '__main__':
  commands.run(main, parts.Seeds(), system_name='semifl', create_command=create)
