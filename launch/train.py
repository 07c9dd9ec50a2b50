# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What the training programs do once their flags are parsed."""

import json

from launch import experiment as experiment_lib
from launch import plan
from launch import privacy_record
from launch import program
from launch import run_flags
from launch import runtimes
from launch import settings as settings_lib
from launch import system as system_lib
from tff_semifl.programs import durable_files
from tff_semifl.programs import results


def train(system: system_lib.System) -> None:
  """Trains as the flags say, or says what would be trained.

  Args:
    system: What to train.
  """
  system.check_flags()
  runtimes.check_flags()
  settings = settings_lib.resolve(system)
  experiment = experiment_lib.create_experiment(system, settings)
  if run_flags.DRY_RUN.value:
    print(json.dumps(plan.describe(experiment), indent=2))
    return
  folder = experiment_lib.open_folder(system, settings, experiment.privacy_key)
  with runtimes.simulation_context():
    final = experiment_lib.run(experiment, folder)
  print(
    f'test accuracy after round {final.round_num}: {final.accuracy:.1%}, best'
    f' {final.best_accuracy:.1%}'
  )
  if experiment.training_program.final_test is not None:
    with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
      found = results.read_final_test(folder.metrics_path)
    print(
      f'final test as in D11, of the model of round {found.round_num}:'
      f' {found.accuracy:.1%}'
    )
  statement = privacy_record.read(folder.path, final.round_num)
  if statement is not None:
    print(f'privacy: {statement.headline}')
  print(f'metrics: {folder.metrics_path}')
  print(f'SavedModel: {folder.export_path}')
