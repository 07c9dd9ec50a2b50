# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains an image classifier with the system that the first argument names.

For example, SemiFL on digits:

  python -m launch.train semifl --preset=semifl/digits_50_iid

`python -m launch.train SYSTEM --help` lists the flags of a system, and
--dry_run prints the plan without training. The name of your own system, task
(--task) or model (--model) is package.module:NAME.

Results are in `<output_dir>/<experiment_name>`; the same command resumes an
interrupted run. Progress is shown on standard error, and the result is printed
on standard output at the end. With --verbosity=-1, standard error has only
warnings and errors; with --verbosity=-2, only errors. TensorBoard shows more:

  tensorboard --logdir=results
"""

import dataclasses
import json

from absl import logging

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import client_results
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import plan
from tff_semifl.experiment import progress
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import site_shares
from tff_semifl.experiment import training
from tff_semifl.experiment import training_warnings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(settings.Settings):
  """The settings of this program, in addition to the settings of training."""

  dry_run: bool = settings.setting(
    False, 'Build everything and print the plan as JSON, without training.'
  )


def main(own: Training, command: command_lib.Command) -> None:
  """Trains, or prints the plan."""
  experiment = command.create_experiment()
  if own.dry_run:
    print(json.dumps(plan.describe(experiment), indent=2))
    for problem in training_warnings.find_problems(experiment):
      logging.warning('%s', problem)
    return
  folder = command.open_folder(experiment)
  with command.context(command_lib.find_federation(experiment, folder)):
    final = command_lib.run(experiment, folder, quiet=progress.is_quiet())
  with command_lib.blame_output(experiment.run):
    _print_outcome(experiment, folder, final)


def _print_outcome(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
  final: training.ProgramState,
) -> None:
  kept = saved_experiment.read_trained_model(folder.path)
  print(model_results.describe_accuracy(experiment, kept))
  for line in model_results.describe_metrics(experiment, kept.weights):
    print(line)
  for line in model_results.read_by_system(folder.path):
    print(line)
  if experiment.run.client_accuracy:
    measured = client_results.read_accuracies(folder.path)
    for line in client_results.describe_accuracies(measured):
      print(line)
  prior = site_shares.read(folder.path)
  if prior is not None:
    print(site_shares.describe(prior))
  print(
    f'exported: the model of round {kept.round_num}, {kept.choice.describe()}'
  )
  if kept.choice.is_by_test:
    print('the test images chose this round: their accuracy is too good')
  ended_early = running.describe_early_end(experiment, final)
  if ended_early is not None:
    print(ended_early)
  if experiment.settings.private_mean is not None:
    statement = client_privacy.read(folder.path, final.round_num)
    print(f'privacy: {statement.headline}')
    if statement.meaning:
      print(f'  {statement.meaning}')
  print(f'metrics: {folder.metrics_path}')
  print(f'SavedModel: {folder.export_path}')


if __name__ == '__main__':
  commands.run(main, Training())
