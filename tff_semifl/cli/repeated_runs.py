# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Repeated runs that differ in the seed or a few other settings."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from absl import flags

from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import saved_experiment
from tff_semifl.results import summary

_MAX_SEED = 2**31 - 1

_SEEDS = flags.DEFINE_list(
  'seeds',
  None,
  'Seeds to train with, separated by commas; by default that of --seed, or 0.',
)


class Run(NamedTuple):
  """An experiment and its folder."""

  experiment: experiment_lib.Experiment
  folder: experiment_folder.ExperimentFolder


def parse_seeds(default: int) -> list[int]:
  """The seeds of --seeds, in order; only `default` without the flag."""
  if _SEEDS.value is None:
    return [default]
  with program.blame(_SEEDS, ValueError):
    if 'seed' in flags.FLAGS and flags.FLAGS['seed'].present:
      raise ValueError('--seeds replaces --seed; leave --seed out')
    if not _SEEDS.value:
      raise ValueError('name at least one')
    # `int` would also accept underscores, spaces and a sign.
    if not all(
      text.isascii() and text.isdecimal() and int(text) <= _MAX_SEED
      for text in _SEEDS.value
    ):
      raise ValueError(f'seeds are whole numbers from 0 to {_MAX_SEED}')
    seeds = [int(text) for text in _SEEDS.value]
    if len(set(seeds)) < len(seeds):
      raise ValueError('each seed is trained with once')
    return seeds


def open_run(command: command_lib.Command, changes: Mapping[str, Any]) -> Run:
  """Builds an experiment, and opens its folder."""
  command = settings.change(command, changes)
  experiment = command.create_experiment()
  return Run(experiment, command.open_folder(experiment))


def check_has_no_name(command: command_lib.Command, why: str) -> None:
  """Checks that no name is chosen, since all runs would share the name."""
  with settings.blame('experiment_name', command.run.experiment_name):
    if command.run.experiment_name is not None:
      raise ValueError(f'{why}; leave the flag out')


def train(run: Run) -> saved_experiment.TrainedModel:
  """Trains or resumes a run, and returns the model that is kept."""
  command_lib.run(run.experiment, run.folder, quiet=program.is_quiet())
  with command_lib.blame_output(run.experiment.run):
    return saved_experiment.read_trained_model(run.folder.path)


def train_all(
  command: command_lib.Command, runs: Mapping[str, Mapping[str, Any]]
) -> Sequence[summary.Repetition]:
  """Trains or resumes a run for each of several changes of settings."""
  # All folders are opened before the first run begins.
  opened = {name: open_run(command, changes) for name, changes in runs.items()}
  found = []
  with command.context(command_lib.find_federation(*[*opened.values()][0])):
    for name, run in opened.items():
      kept = train(run)
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
