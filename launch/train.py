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

from collections.abc import Sequence
import json

from absl import flags
from absl import logging

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.cli import repeated_runs
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import plan
from tff_semifl.experiment import running
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import training
from tff_semifl.experiment import training_warnings
from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.results import summary

_DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Build everything, print as JSON what would be run, and train nothing.',
)
_CROSS_VALIDATION = flags.DEFINE_integer(
  'cross_validation',
  None,
  "Parts that the server's labels are divided into: there is a run for each,"
  ' which validates on it and trains on the others.',
  lower_bound=2,
)


def main(command: command_lib.Command) -> None:
  """Trains once, for each seed, or for each fold."""
  seeds = repeated_runs.parse_seeds(command.experiment.seed)
  if _CROSS_VALIDATION.value is not None:
    _cross_validate(command, seeds)
  elif len(seeds) > 1:
    _repeat(command, seeds)
  else:
    _train(settings.change(command, {'seed': seeds[0]}))


def _repeat(command: command_lib.Command, seeds: Sequence[int]) -> None:
  """Trains with each of several seeds."""
  _check_can_repeat(command, 'each seed has an experiment')
  runs = repeated_runs.train_all(
    command, {str(seed): {'seed': seed} for seed in seeds}
  )
  print(summary.seeds_to_markdown(runs))
  kind = 'validation' if command.experiment.validates else 'test'
  print(
    f'\nThese are {kind} images. Intervals are those of the mean'
    " over seeds (Student's t).\n"
    f'metrics, checkpoints, SavedModels: {command.run.output_dir}/'
  )


def _cross_validate(command: command_lib.Command, seeds: Sequence[int]) -> None:
  """Trains for each fold, and prints out-of-fold metrics."""
  num_folds = _CROSS_VALIDATION.value
  with program.blame(_CROSS_VALIDATION, ValueError):
    if len(seeds) > 1:
      raise ValueError('give one seed')
    if command.experiment.validates:
      raise ValueError(
        'validates on each part of the labels once; leave --num_validation and'
        ' --validation_fold out'
      )
    if 'validation_fold' not in settings.as_dict(command.experiment):
      raise ValueError('this system has no labels to validate on')
  _check_can_repeat(command, 'each part of the labels has an experiment')
  runs = repeated_runs.train_all(
    command,
    {
      fold: {'seed': seeds[0], 'validation_fold': fold}
      for fold in (f'{number + 1}/{num_folds}' for number in range(num_folds))
    },
  )
  print(f'{summary.folds_to_markdown(runs)}\n')
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


def _check_can_repeat(command: command_lib.Command, why: str) -> None:
  repeated_runs.check_has_no_name(command, why)
  with program.blame(_DRY_RUN, ValueError):
    if _DRY_RUN.value:
      raise ValueError(f'{why}; give one --seed, and no --cross_validation')


def _train(command: command_lib.Command) -> None:
  """Trains once, or with --dry_run prints the plan."""
  experiment = command.create_experiment()
  if _DRY_RUN.value:
    print(json.dumps(plan.describe(experiment), indent=2))
    for problem in training_warnings.find_problems(experiment):
      logging.warning('%s', problem)
    return
  folder = command.open_folder(experiment)
  with command.context(command_lib.find_federation(experiment, folder)):
    final = command_lib.run(experiment, folder, quiet=program.is_quiet())
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
    print(
      model_results.describe_accuracies(
        model_results.read_accuracies(folder.path)
      )
    )
  if experiment.run.client_classes:
    counts = model_results.read_classes(folder.path)
    print(model_results.describe_classes(experiment, counts))
  print(
    f'exported: the model of round {kept.round_num}, {kept.choice.describe()}'
  )
  if kept.choice.is_by_test:
    print('the test images chose this round: their accuracy is too good')
  ended_early = running.describe_early_end(experiment, final)
  if ended_early is not None:
    print(ended_early)
  statement = client_privacy.read(folder.path, final.round_num)
  if statement is not None:
    print(f'privacy: {statement.headline}')
    if statement.meaning:
      print(f'  {statement.meaning}')
  print(f'metrics: {folder.metrics_path}')
  print(f'SavedModel: {folder.export_path}')


if __name__ == '__main__':
  commands.run('train', main)
