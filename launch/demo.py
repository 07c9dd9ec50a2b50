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

from collections.abc import Mapping
import pathlib
from typing import Any

from tff_semifl import settings
from tff_semifl.command_line import commands
from tff_semifl.command_line import repeated_runs
from tff_semifl.command_line import seeds as seeds_lib
from tff_semifl.experiments import command as command_lib
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.results import comparison
from tff_semifl.results import report
from tff_semifl.runs import metrics_table


def main(command: command_lib.Command) -> None:
  """Trains with and without clients, with each seed."""
  seeds = seeds_lib.parse(command.experiment.seed)
  with settings.blame('clients_per_round', 0):
    if command.experiment.system.clients_per_round == 0:
      raise ValueError('must be positive, to compare with training without any')
  repeated_runs.check_has_no_name(command, 'each seed has two experiments')
  # All folders are opened before the first run begins.
  pairs = [_create_pair(command, seed) for seed in seeds]
  with command.context(command_lib.find_federation(*pairs[0][1])):
    rows = [
      (seed, _train(labels_alone), _train(with_clients))
      for seed, (labels_alone, with_clients) in zip(seeds, pairs, strict=True)
    ]
  print(comparison.to_markdown(rows))
  sizes = evaluated_images.count_by_class(pairs[0][1].experiment)
  print(f'\n{comparison.describe(sizes, len(seeds))}')
  if command.experiment.validates:
    print('Accuracies are those on the validation images; nothing was tested.')
  print(f'Metrics, checkpoints, SavedModels: {command.run.output_dir}/')
  path = pathlib.Path(command.run.output_dir) / 'report.html'
  # Runs without clients come first: differences are from the first runs.
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
  # The chosen parts, such as another model, may lack some of these settings.
  return settings.change_present(command, {**quick, **changes})


def _create_pair(
  command: command_lib.Command, seed: int
) -> tuple[repeated_runs.Run, repeated_runs.Run]:
  """Builds SemiFL, and the same process with no client in any round."""
  with_clients = repeated_runs.open_run(command, {'seed': seed})
  labels_alone = experiment_lib.without_clients(with_clients.experiment)
  return (
    repeated_runs.Run(labels_alone, command.open_folder(labels_alone)),
    with_clients,
  )


def _train(run: repeated_runs.Run) -> comparison.Result:
  kept = repeated_runs.train(run)
  # Read from the table, which includes rounds before an interruption.
  minutes = metrics_table.read_results(run.folder.metrics_path).minutes
  is_right = evaluated_images.find_right(run.experiment, kept.weights)
  return comparison.Result(kept.accuracy, minutes, is_right)


if __name__ == '__main__':
  commands.run(
    'demo', __doc__, main, system_name='semifl', create_command=create
  )
