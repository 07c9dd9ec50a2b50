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
"""

import json

from absl import flags
from absl import logging

from tff_semifl.command_line import commands
from tff_semifl.command_line import interrupts
from tff_semifl.command_line import program
from tff_semifl.experiments import accuracy_of_clients
from tff_semifl.experiments import before_training
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import command as command_lib
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import kept_model
from tff_semifl.experiments import measured_in_words
from tff_semifl.experiments import plan
from tff_semifl.runs import intervals
from tff_semifl.runs import results

_DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Build everything, print as JSON what would be run, and train nothing.',
)


def main(command: command_lib.Command) -> None:
  """Trains, or with --dry_run prints what would be run.

  Args:
    command: The settings.
  """
  with interrupts.without_search():
    experiment = command.create_experiment()
  if _DRY_RUN.value:
    print(json.dumps(plan.describe(experiment), indent=2))
    for problem in before_training.find_problems(experiment):
      logging.warning('%s', problem)
    return
  folder = command.open_folder(experiment)
  with command.context(command_lib.find_federation(experiment, folder)):
    final = command_lib.run(experiment, folder, quiet=program.is_quiet())
  kind = 'validation' if experiment.settings.validates else 'test'
  sizes = evaluated_images.count_by_class(experiment)
  with command_lib.blame_output(experiment.run):
    kept = kept_model.load(experiment, folder, final)
  print(
    f'{kind} accuracy after round {kept.round_num}:'
    f' {intervals.describe(kept.accuracy, sizes)}'
  )
  for line in measured_in_words.describe(experiment, kept.weights):
    print(line)
  for line in measured_in_words.describe_by_system(experiment, folder, kept):
    print(line)
  if experiment.run.client_accuracy:
    with command_lib.blame_output(experiment.run):
      print(accuracy_of_clients.describe(accuracy_of_clients.read(folder.path)))
  print(
    f'exported: the model of round {kept.round_num}, {kept.choice.describe()}'
  )
  if kept.choice.is_by_test:
    print('the test images chose this round: their accuracy is too good')
  ended_early = kept_model.describe_end(experiment, final)
  if ended_early is not None:
    print(ended_early)
  if experiment.training_program.final_test is not None:
    with command_lib.blame_output(experiment.run):
      found = results.read_final_test(folder.metrics_path)
    print(
      f'final test of the authors, of the model of round {found.round_num}:'
      f' {intervals.describe(found.accuracy, sizes)}'
    )
  statement = client_privacy.read(folder.path, final.round_num)
  if statement is not None:
    print(f'privacy: {statement.headline}')
    if statement.meaning:
      print(f'  {statement.meaning}')
  print(f'metrics: {folder.metrics_path}')
  print(f'SavedModel: {folder.export_path}')


if __name__ == '__main__':
  commands.run('train', __doc__, main)
