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
from typing import Any

from tff_semifl import settings
from tff_semifl.command_line import commands
from tff_semifl.command_line import interrupts
from tff_semifl.command_line import program
from tff_semifl.command_line import seeds as seeds_lib
from tff_semifl.experiments import command as command_lib
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import kept_model
from tff_semifl.runs import outputs
from tff_semifl.runs import results
from tff_semifl.sweeps import comparison


def main(command: command_lib.Command) -> None:
  """Trains with and without clients, with each seed."""
  seeds = seeds_lib.parse(command.experiment.seed)
  with settings.blame('clients_per_round', 0):
    if command.experiment.system.clients_per_round == 0:
      raise ValueError('must be positive, to compare with training without any')
  with settings.blame('experiment_name', command.run.experiment_name):
    if command.run.experiment_name is not None:
      raise ValueError('each seed has two experiments; leave the flag out')
  # All folders are opened before the first run begins.
  pairs = [_create_pair(command, seed) for seed in seeds]
  with command.context(command_lib.find_federation(*pairs[0][1])):
    rows = [
      (seed, _run(*labels_alone), _run(*with_clients))
      for seed, (labels_alone, with_clients) in zip(seeds, pairs, strict=True)
    ]
  print(comparison.to_markdown(rows))
  sizes = evaluated_images.count_by_class(pairs[0][1][0])
  print(f'\n{comparison.describe(sizes, len(seeds))}')
  if command.experiment.validates:
    print('Accuracies are those on the validation images; nothing was tested.')
  print(f'Metrics, checkpoints, SavedModels: {command.run.output_dir}/')


def create(system_name: str, changes: Mapping[str, Any]) -> command_lib.Command:
  """Creates the command, with quick defaults.

  Args:
    system_name: Name of the system.
    changes: Values of settings by name.

  Raises:
    settings.SettingError: If a setting does not exist or rejects its value.
  """
  command = commands.create(system_name, changes)
  quick = command.experiment.data.task.quick
  # The chosen parts, such as another model, may lack some of these settings.
  return settings.change_present(command, {**quick, **changes})


_Run = tuple[experiment_lib.Experiment, outputs.ExperimentFolder]


def _create_pair(command: command_lib.Command, seed: int) -> tuple[_Run, _Run]:
  """Builds SemiFL, and the same process with no client in any round."""
  command = settings.change(command, {'seed': seed})
  with interrupts.without_search():
    experiment = command.create_experiment()
  labels_alone = experiment_lib.without_clients(experiment)
  return (
    (labels_alone, command.open_folder(labels_alone)),
    (experiment, command.open_folder(experiment)),
  )


def _run(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> comparison.Result:
  final = command_lib.run(experiment, folder, quiet=program.is_quiet())
  # Read from the table, which includes rounds before an interruption.
  minutes = results.read_results(folder.metrics_path).minutes
  kept = kept_model.load(experiment, folder, final)
  is_right = evaluated_images.find_right(experiment, kept.weights)
  return comparison.Result(kept.accuracy, minutes, is_right)


if __name__ == '__main__':
  commands.run(
    'demo', __doc__, main, system_name='semifl', create_command=create
  )
