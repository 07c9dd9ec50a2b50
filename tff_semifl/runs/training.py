# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training program: rounds, evaluation, metrics, checkpoints, resuming."""

from collections.abc import Callable

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runs import best_models as best_models_lib
from tff_semifl.runs import memories as memories_lib
from tff_semifl.runs import model_choice as model_choice_lib
from tff_semifl.runs import round_metrics
from tff_semifl.runs import training_program
from tff_semifl.runs import training_rounds


class TrainingDivergedError(Exception):
  """Training has diverged: weights or losses are not finite."""


async def train(
  program: training_program.TrainingProgram,
  *,
  state_manager: tff.program.ProgramStateManager,
  metrics_manager: tff.program.ReleaseManager,
  memories: memories_lib.Memories | None = None,
  best_models: best_models_lib.BestModels | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, round_metrics.RoundMetrics], None],
) -> training_program.ProgramState:
  """Runs the rounds that have not been run yet.

  After each evaluation the metrics are released, and then the state is saved. A
  killed program thus loses only the rounds since the last evaluation, which are
  run again and replace their metrics. Rounds that end with weights or losses
  that are not finite are run once more, in case of a device error;
  deterministic divergence repeats.

  Args:
    program: The program.
    state_manager: Saves `ProgramState`s, with the round as the version.
    metrics_manager: Releases `round_metrics.RoundMetrics`, with the round as
      the key.
    memories: Keeps the memories of clients; None if clients have no memory.
    best_models: Keeps the model that the program chooses; None if it chooses
      none.
    on_start: Called with the number of the first round to run; not if early
      stopping has ended training before.
    on_round: Called after each evaluation with the number of the round and its
      metrics.

  Returns:
    The state after the last round.

  Raises:
    TrainingDivergedError: If weights or losses are not finite twice.
    ValueError: If `memories` or `best_models` is missing although the program
      needs it, or given although it does not.
  """
  if (program.process.initialize_memory is None) != (memories is None):
    raise ValueError(
      '`memories` must be given if the process remembers something of clients,'
      f' and only then; found {memories}.'
    )
  choice = program.model_choice
  if (choice is None) != (best_models is None):
    raise ValueError(
      '`best_models` must be given if the program chooses a model, and only'
      f' then; found {best_models}.'
    )
  # The manager takes the structure to load from the initial state.
  latest = training_program.ProgramState(
    program.process.initialize(),
    -1,
    0.0,
    0.0,
    () if memories is None else memories.initialize(),
    () if choice is None else model_choice_lib.Best(),
  )
  saved, _ = await state_manager.load_latest(latest)
  if saved is not None:
    # Numbers are read as NumPy scalars.
    latest = training_program.ProgramState(
      saved.state,
      int(saved.round_num),
      round_metrics.shortest(saved.accuracy),
      round_metrics.shortest(saved.best_accuracy),
      saved.memories,
      saved.best
      and model_choice_lib.Best(*(number.item() for number in saved.best)),
    )
  if best_models is not None:
    best_models.resume(latest.best.round_num)
  if choice is not None and choice.is_over(latest.best):
    return latest
  on_start(latest.round_num + 1)
  while latest.round_num < program.total_rounds:
    round_num = _next_evaluation(program, latest.round_num)
    reached, metrics = training_rounds.run_rounds(
      program, latest, round_num, memories
    )
    if not _is_finite(reached, metrics):
      logging.error(
        'Round %d ended with weights or losses that are not finite. What came'
        ' after round %d is run once more.',
        round_num,
        latest.round_num,
      )
      reached, metrics = training_rounds.run_rounds(
        program, latest, round_num, memories
      )
      if not _is_finite(reached, metrics):
        raise TrainingDivergedError(
          f'weights or losses are not finite after round {round_num}, which was'
          ' run twice. What was before that round is saved'
        )
    latest = reached
    if best_models is not None and latest.best.round_num == round_num:
      best_models.save(
        best_models_lib.BestModel(
          latest.state.global_model_weights,
          round_num,
          latest.accuracy,
          latest.best.value,
        )
      )
    await metrics_manager.release(metrics, round_num)
    await state_manager.save(latest, round_num)
    on_round(round_num, metrics)
    if choice is not None and choice.is_over(latest.best):
      break
  return latest


def _next_evaluation(
  program: training_program.TrainingProgram, round_num: int
) -> int:
  interval = program.rounds_per_evaluation
  return min((round_num // interval + 1) * interval, program.total_rounds)


def _is_finite(
  reached: training_program.ProgramState, metrics: round_metrics.RoundMetrics
) -> bool:
  """Whether state, memories, server metrics and test are finite."""
  # Without a server step, loss and accuracy are both NaN; after a step that
  # diverged, the accuracy is finite.
  server = () if np.all(np.isnan(metrics.server)) else metrics.server
  # The whole state, because a momentum that is not finite would spoil the next
  # round.
  return all(
    np.all(np.isfinite(array))
    for array in tf.nest.flatten(
      (reached.state, reached.memories, server, metrics.evaluation)
    )
    if np.issubdtype(np.asarray(array).dtype, np.floating)
  )
