# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains an image classifier with the system that is the first argument.

This trains SemiFL on digits, with the flags of the demonstration:

  python -m launch.train semifl --preset=semifl/digits_50_iid

`python -m launch.train SYSTEM --help` lists the flags of a system, and
--dry_run prints what would be run instead of running it. Your own system is
named as package.module:NAME, and so are your own task (--task) and model
(--model).

Results are in `<output_dir>/<experiment_name>`; the same command resumes an
interrupted run. Progress is shown on standard error, and the result is printed
on standard output at the end. With --verbosity=-1, standard error has only
warnings and errors; with --verbosity=-2, only errors. TensorBoard shows more:

  tensorboard --logdir=results

With --seeds=0,1,2 there is a run for each seed, and at the end a table of the
accuracy and of --metrics with mean, deviation and interval. With
--cross_validation=5 there is a run for each fifth of the server's labels, which
it validates on and does not train on; at the end each labeled image has been
predicted by a model that was not trained on it.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import json
from typing import Any

from absl import logging

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import client_results
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import plan
from tff_semifl.experiment import progress
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import site_shares
from tff_semifl.experiment import training
from tff_semifl.experiment import training_warnings
from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.results import summary


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(settings.Settings):
  """The settings of this program, beside those of what it trains."""

  seeds: parts.Seeds = parts.Seeds()
  dry_run: bool = settings.setting(
    False,
    'Build everything, print as JSON what would be run, and train nothing.',
  )
  cross_validation: int | None = settings.setting(
    None,
    "Parts that the server's labels are divided into: there is a run for each,"
    ' which validates on it and trains on the others.',
    settings.at_least(2),
  )


def main(own: Training, command: command_lib.Command) -> None:
  """Trains once, for each seed, or for each fold."""
  seeds = own.seeds.read(command.experiment.seed)
  is_one = own.cross_validation is None and len(seeds) == 1
  with settings.blame('dry_run', own.dry_run):
    if own.dry_run and not is_one:
      raise ValueError('give one --seed, and no --cross_validation')
  if own.cross_validation is not None:
    _cross_validate(command, own.cross_validation, seeds)
  elif not is_one:
    _repeat(command, seeds)
  else:
    _train(settings.change(command, {'seed': seeds[0]}), own.dry_run)


def _repeat(command: command_lib.Command, seeds: Sequence[int]) -> None:
  """Trains with each of several seeds."""
  commands.check_has_no_name(command, 'each seed has an experiment')
  runs = _train_all(command, {str(seed): {'seed': seed} for seed in seeds})
  print(summary.to_markdown(runs, 'seed'))
  kind = 'validation' if command.experiment.validates else 'test'
  print(
    f'\nThese are {kind} images. Intervals are those of the mean'
    " over seeds (Student's t).\n"
    f'metrics, checkpoints, SavedModels: {command.run.output_dir}/'
  )


def _cross_validate(
  command: command_lib.Command, num_folds: int, seeds: Sequence[int]
) -> None:
  """Trains for each fold, and prints out-of-fold metrics."""
  with settings.blame('cross_validation', num_folds):
    if len(seeds) > 1:
      raise ValueError('give one seed')
    if command.experiment.validates:
      raise ValueError(
        'validates on each part of the labels once; leave --num_validation and'
        ' --validation_fold out'
      )
    if 'validation_fold' not in settings.as_dict(command.experiment):
      raise ValueError('this system has no labels to validate on')
  commands.check_has_no_name(
    command, 'each part of the labels has an experiment'
  )
  runs = _train_all(
    command,
    {
      fold: {'seed': seeds[0], 'validation_fold': fold}
      for fold in (f'{number + 1}/{num_folds}' for number in range(num_folds))
    },
  )
  print(f'{summary.to_markdown(runs, "fold")}\n')
  names = dict.fromkeys(['macro_f1', *command.run.metrics])
  metrics = [metric_lib.load(name) for name in names if name != 'accuracy']
  for line in summary.describe_out_of_fold(
    runs, [metric for metric in metrics if not metric.by_class]
  ):
    print(line)
  keep_best = command.experiment.selection.keep_best
  if keep_best is not None:
    print(
      f'each part chose the round of its model, by {keep_best}: these numbers'
      ' are too good'
    )
  print(
    'The same command without --cross_validation trains on all labels, and'
    ' tests that model.\n'
    f'metrics, checkpoints, SavedModels: {command.run.output_dir}/'
  )


def _train_all(
  command: command_lib.Command, changes: Mapping[str, Mapping[str, Any]]
) -> list[summary.Repetition]:
  """Trains or resumes a run for each of several changes of settings."""
  # All folders are opened before the first run begins.
  runs = {
    name: commands.open_run(command, each) for name, each in changes.items()
  }
  found = []
  with command.context(command_lib.find_federation(*[*runs.values()][0])):
    for name, run in runs.items():
      kept = commands.train(run)
      experiment = run.experiment
      logits = model_results.compute_logits(experiment, kept.weights)
      values = {'accuracy': kept.accuracy}
      measure = experiment.measure
      if isinstance(measure, model_selection.Measurement):
        measured = measure(logits)
        values |= {
          metric.name: measured[metric.name]
          for metric in measure.metrics
          if not metric.by_class
        }
      found.append(
        summary.Repetition(
          name, kept.round_num, experiment.data.test.labels, logits, values
        )
      )
  return found


def _train(command: command_lib.Command, is_dry_run: bool) -> None:
  """Trains once, or prints the plan."""
  experiment = command.create_experiment()
  if is_dry_run:
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
  """Prints the results and the paths of output files."""
  kept = saved_experiment.read_trained_model(folder.path)
  kind = 'validation' if experiment.settings.validates else 'test'
  sizes = model_results.count_by_class(experiment)
  print(
    f'{kind} accuracy after round {kept.round_num}:'
    f' {intervals.describe(kept.accuracy, sizes)}'
  )
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
