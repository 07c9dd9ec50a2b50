# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains an image classifier with SemiFL.

Digits, with the flags of the demonstration:

  python -m launch.train_semifl \
    --flagfile=launch/flagfiles/semifl/digits_50_iid.flags

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

import json

from absl import flags

from launch import augmentation_flags
from launch import data_flags
from launch import program
from launch import semifl_experiment
from launch import semifl_flags
from launch import semifl_settings
from tff_semifl import runtime

_DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Build everything, train nothing, and print as JSON what would be run.',
)


flags.adopt_module_key_flags(data_flags)
flags.adopt_module_key_flags(augmentation_flags)
flags.adopt_module_key_flags(semifl_flags)


def main() -> None:
  """Runs the program, after flags were parsed."""
  settings = semifl_settings.resolve()
  experiment = semifl_experiment.create_experiment(settings)
  if _DRY_RUN.value:
    print(json.dumps(semifl_experiment.describe(experiment), indent=2))
    return
  folder = semifl_experiment.open_folder(settings)
  with runtime.simulation_context(
    semifl_flags.RUNTIME.value,
    max_concurrent_clients=semifl_flags.MAX_CONCURRENT_CLIENTS.value,
  ):
    final = semifl_experiment.run(experiment, folder)
  print(
    f'test accuracy after round {final.round_num}: {final.accuracy:.1%}, best'
    f' {final.best_accuracy:.1%}'
  )
  print(f'metrics: {folder.metrics_path}')
  print(f'SavedModel: {folder.export_path}')


if __name__ == '__main__':
  program.run(main)
