# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The model that a run exports: of the last round, or of the best."""

from typing import NamedTuple

from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.models import functional
from tff_semifl.runs import outputs
from tff_semifl.runs import saved_experiment
from tff_semifl.runs import training_program


class KeptModel(NamedTuple):
  """The model that a run exports.

  Attributes:
    weights: Weights of the global model.
    round_num: Its round.
    accuracy: On the images that it was evaluated on.
    choice: How it was chosen.
  """

  weights: functional.ModelWeights
  round_num: int
  accuracy: float
  choice: saved_experiment.Choice


def load(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  final: training_program.ProgramState,
) -> KeptModel:
  """The model that a run exports.

  Args:
    experiment: The experiment, trained.
    folder: Its folder.
    final: Its state after the last round.

  Raises:
    durable_files.OutputError: If the file of the best model is damaged.
  """
  weights = final.state.global_model_weights
  keep_best = experiment.settings.selection.keep_best
  if keep_best is None or final.best.round_num < 0:
    choice = saved_experiment.Choice(keep_best, last_round=final.round_num)
    return KeptModel(weights, final.round_num, final.accuracy, choice)
  best = folder.best_models().load(final.best.round_num, weights)
  return KeptModel(
    best.global_model_weights,
    best.round_num,
    best.accuracy,
    saved_experiment.Choice(
      keep_best, last_round=final.round_num, value=best.value
    ),
  )


def describe_end(
  experiment: experiment_lib.Experiment, final: training_program.ProgramState
) -> str | None:
  """A line on early stopping; None if all rounds were run.

  Args:
    experiment: The experiment.
    final: Its state after the last round.
  """
  choice = experiment.training_program.model_choice
  total_rounds = experiment.training_program.total_rounds
  if choice is None or final.round_num >= total_rounds:
    return None
  return (
    f'stopped after round {final.round_num} of {total_rounds}: no gain of'
    f' {choice.column} in {final.best.num_since} evaluations'
  )
