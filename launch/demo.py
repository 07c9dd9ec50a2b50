# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL and, with the same server steps, the labels alone.

What the unlabelled images are worth: both are trained on the same labels, with
one or more seeds, and the accuracies are put side by side. It takes the flags
of `launch.train_semifl` but for --experiment_name.

  python -m launch.demo --seeds=0,1,2,3,4 \
    --flagfile=launch/flagfiles/semifl/digits_50_iid.flags
"""

from collections.abc import Sequence
import statistics
from typing import NamedTuple

from absl import flags

from launch import experiment as experiment_lib
from launch import markdown
from launch import program
from launch import run_flags
from launch import runtimes
from launch import seed_flags
from launch import settings as settings_lib
from launch import systems
from launch import training_flags
from tff_semifl.programs import outputs
from tff_semifl.programs import results

systems.SEMIFL.adopt_flags()
flags.adopt_module_key_flags(seed_flags)


def main() -> None:
  """Runs the program, after flags were parsed."""
  seeds = seed_flags.resolve()
  with program.blame(training_flags.CLIENTS_PER_ROUND, ValueError):
    if training_flags.CLIENTS_PER_ROUND.value == 0:
      raise ValueError('there must be clients to compare with none')
  with program.blame(run_flags.EXPERIMENT_NAME, ValueError):
    if run_flags.EXPERIMENT_NAME.value is not None:
      raise ValueError('there is one experiment for each row; leave it out')
  runtimes.check_flags()
  # Nothing is trained before it is known that everything can be written.
  pairs = [_create_pair(seed) for seed in seeds]
  with runtimes.simulation_context():
    rows = [
      (seed, _run(*labels_alone), _run(*with_clients))
      for seed, (labels_alone, with_clients) in zip(seeds, pairs, strict=True)
    ]
  print(_table(rows))
  print(f'Metrics, checkpoints, SavedModels: {run_flags.OUTPUT_DIR.value}/')


class _Result(NamedTuple):
  """The last test accuracy, and how long the rounds took."""

  accuracy: float
  minutes: float


_Run = tuple[experiment_lib.Experiment, outputs.ExperimentFolder]


def _create_pair(seed: int) -> tuple[_Run, _Run]:
  """Builds SemiFL, and the same process with no client in any round."""
  settings = settings_lib.resolve(systems.SEMIFL, seed=seed)
  experiment = experiment_lib.create_experiment(systems.SEMIFL, settings)
  labels_alone = experiment_lib.without_clients(experiment)
  return (
    (
      labels_alone,
      experiment_lib.open_folder(systems.SEMIFL, labels_alone.settings),
    ),
    (
      experiment,
      experiment_lib.open_folder(
        systems.SEMIFL, settings, experiment.privacy_key
      ),
    ),
  )


def _run(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
) -> _Result:
  final = experiment_lib.run(experiment, folder)
  # All rounds, those before an interruption too.
  minutes = results.read_results(folder.metrics_path).minutes
  return _Result(final.accuracy, minutes)


def _table(rows: Sequence[tuple[int, _Result, _Result]]) -> str:
  """Returns accuracies and minutes as a Markdown table."""
  table_rows = [
    (
      str(seed),
      f'{alone.accuracy:.1%}',
      f'{semifl.accuracy:.1%}',
      f'{100 * (semifl.accuracy - alone.accuracy):+.1f} points',
      f'{alone.minutes:.1f} + {semifl.minutes:.1f}',
    )
    for seed, alone, semifl in rows
  ]
  if len(rows) > 1:
    alone, semifl = (
      [result.accuracy for result in column]
      for column in list(zip(*rows, strict=True))[1:]
    )
    differences = [b - a for a, b in zip(alone, semifl, strict=True)]
    table_rows.append(
      (
        'mean (standard deviation)',
        _mean_and_deviation(alone),
        _mean_and_deviation(semifl),
        f'{100 * statistics.mean(differences):+.1f} points',
        '',
      )
    )
  return markdown.table(
    ('seed', 'labels alone', 'SemiFL', 'difference', 'minutes'), table_rows
  )


def _mean_and_deviation(values: Sequence[float]) -> str:
  deviation = statistics.stdev(values)
  return f'{statistics.mean(values):.1%} ({100 * deviation:.1f})'


if __name__ == '__main__':
  program.run(main)
