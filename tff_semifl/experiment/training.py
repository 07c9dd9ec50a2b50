# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training loop: rounds, evaluation, metrics, checkpoints, resuming."""

import collections
from collections.abc import Callable, Mapping
import time
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_states
from tff_semifl.core import federated_process
from tff_semifl.experiment import checkpoints as checkpoints_lib
from tff_semifl.experiment import round_metrics
from tff_semifl.experiment import training_program


class TrainingDivergedError(Exception):
  """Training has diverged: weights or losses are not finite."""


async def train(
  program: training_program.TrainingProgram,
  *,
  checkpoints: checkpoints_lib.Checkpoints,
  metrics_manager: tff.program.ReleaseManager,
  memories: client_states.Memories | None = None,
  best_models: checkpoints_lib.BestModels | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, round_metrics.RoundMetrics], None],
) -> training_program.ProgramState:
  """Runs the remaining rounds, and returns the last state.

  After each evaluation the metrics are released, and then the state is saved. A
  killed program loses only the rounds since the last evaluation; these rounds
  are run again, and their metrics replaced. If weights or losses are not
  finite, the rounds are run once more, since a device error may be the cause.

  Args:
    program: The program.
    checkpoints: Keeps `ProgramState`s, with the round as the version.
    metrics_manager: Releases `round_metrics.RoundMetrics`, with the round as
      the key.
    memories: Keeps clients' memories; None if clients have no memory.
    best_models: Keeps the best model; None if the last model is exported.
    on_start: Called with the number of the first round to run; not called if
      early stopping has already ended training.
    on_round: Called after each evaluation with the number of the round and its
      metrics.

  Raises:
    TrainingDivergedError: If weights or losses are not finite twice.
  """
  choice = program.model_choice
  latest = training_program.ProgramState(
    program.process.initialize(),
    -1,
    0.0,
    0.0,
    () if memories is None else memories.initialize(),
    () if choice is None else training_program.Best(),
  )
  saved = checkpoints.load_latest(latest)
  if saved is not None:
    # Numbers are read as NumPy scalars.
    latest = training_program.ProgramState(
      saved.state,
      int(saved.round_num),
      round_metrics.shortest(saved.accuracy),
      round_metrics.shortest(saved.best_accuracy),
      saved.memories,
      saved.best
      and training_program.Best(*(number.item() for number in saved.best)),
    )
  if best_models is not None:
    best_models.resume(latest.best.round_num)
  if choice is not None and choice.is_over(latest.best):
    return latest
  on_start(latest.round_num + 1)
  interval = program.rounds_per_evaluation
  while latest.round_num < program.total_rounds:
    round_num = min(
      (latest.round_num // interval + 1) * interval, program.total_rounds
    )
    reached, metrics = _run_rounds(program, latest, round_num, memories)
    if not _is_finite(reached, metrics):
      logging.error(
        'Round %d ended with weights or losses that are not finite. What came'
        ' after round %d is run once more.',
        round_num,
        latest.round_num,
      )
      reached, metrics = _run_rounds(program, latest, round_num, memories)
      if not _is_finite(reached, metrics):
        raise TrainingDivergedError(
          f'weights or losses are not finite after round {round_num}, which was'
          ' run twice. What was before that round is saved'
        )
    latest = reached
    if best_models is not None and latest.best.round_num == round_num:
      best_models.save(
        checkpoints_lib.BestModel(
          latest.state.global_model_weights,
          round_num,
          latest.accuracy,
          latest.best.value,
        )
      )
    await metrics_manager.release(metrics, round_num)
    checkpoints.save(latest, round_num)
    on_round(round_num, metrics)
    if choice is not None and choice.is_over(latest.best):
      break
  return latest


def _is_finite(
  reached: training_program.ProgramState, metrics: round_metrics.RoundMetrics
) -> bool:
  """Whether state, memories, server metrics and evaluation are finite."""
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


def _run_rounds(
  program: training_program.TrainingProgram,
  latest: training_program.ProgramState,
  last_round: int,
  memories: client_states.Memories | None,
) -> tuple[training_program.ProgramState, round_metrics.RoundMetrics]:
  """Runs the rounds up to `last_round`, and evaluates the model."""
  start = time.monotonic()
  state, held = latest.state, latest.memories
  statistics = program.statistics
  for round_num in range(latest.round_num + 1, last_round + 1):
    output, held = _run_round(program, state, round_num, memories, held)
    state = output.state
    if statistics is not None and (
      statistics.for_clients or round_num == last_round
    ):
      state = _compute_statistics(statistics, state)
  metrics = _measure(program, state, output, last_round, latest.best_accuracy)
  metrics = tf.nest.map_structure(
    round_metrics.shortest,
    metrics._replace(seconds=time.monotonic() - start),
  )
  best = latest.best
  if program.model_choice is not None:
    columns = round_metrics.by_column(metrics)
    best = program.model_choice.update(best, last_round, columns)
  return training_program.ProgramState(
    state=state,
    round_num=last_round,
    accuracy=metrics.evaluation.accuracy,
    best_accuracy=metrics.evaluation.best_accuracy,
    memories=held,
    best=best,
  ), metrics


def _measure(
  program: training_program.TrainingProgram,
  state: Any,
  output: federated_process.RoundOutput,
  round_num: int,
  best_accuracy: float,
) -> round_metrics.RoundMetrics:
  """Evaluates the model after a round, and adds the round's measurements."""
  measured = dict(
    program.evaluation(state.global_model_weights, program.test_dataset)
  )
  further = {}
  if program.measure is not None:
    kind = 'validation' if program.validates else 'test'
    further = {
      f'{kind}/{name}': value
      for name, value in program.measure(measured.pop('logits')).items()
    }
  evaluation = round_metrics.EvaluationMetrics(
    **measured, best_accuracy=max(best_accuracy, measured['accuracy'])
  )
  clients = program.clients
  given_labels, true_labels = (), ()
  if program.measures_pseudo_labels:
    given_labels = output.given_labels
    true_labels = clients.true_labels(round_num)
  aggregator = collections.OrderedDict(output.metrics['aggregator'])
  if program.epsilon_fn is not None:
    aggregator['epsilon'] = program.epsilon_fn(round_num)
  return round_metrics.RoundMetrics(
    test=() if program.validates else evaluation,
    server=round_metrics.ServerMetrics(**output.metrics['server']),
    client=round_metrics.create_client_metrics(
      output.metrics['client'],
      **round_metrics.measure_pseudo_labels(given_labels, true_labels),
      num_dropped=float(
        len(clients.chosen(round_num)) - len(clients.cohort(round_num))
      ),
    ),
    learning_rate=output.metrics['learning_rate'],
    seconds=0.0,
    aggregator=aggregator,
    validation=evaluation if program.validates else (),
    further=further,
  )


def _compute_statistics(
  statistics: training_program.StatisticsPass, state: Any
) -> Any:
  return state._replace(
    global_model_weights=statistics.computation(
      state.global_model_weights, statistics.data
    )
  )


def _run_round(
  program: training_program.TrainingProgram,
  state: Any,
  round_num: int,
  memories: client_states.Memories | None,
  held: Any,
) -> tuple[federated_process.RoundOutput, Any]:
  """Runs a round; returns the output and the memories in main memory."""
  process, clients = program.process, program.clients
  if process.prepare is not None and round_num == 1:
    if clients.clients_per_round:
      state = process.prepare(
        state, program.server_dataset, clients.all_datasets()
      )
  arguments = state, program.server_dataset, clients.datasets(round_num)
  cohort = clients.cohort(round_num)
  if memories is not None:
    arguments += (memories.recall(held, round_num, cohort),)
  try:
    output = process.next(*arguments)
  except Exception as error:
    error.add_note(f'In round {round_num}.')
    raise
  counts: Mapping[str, float] = output.metrics['client']
  if counts['num_rejected'] > 0 and counts['num_participating'] == 0:
    logging.warning(
      'Round %d: no update of a client counts. %d clients were rejected: what'
      ' they sent is not finite, or updates are longer than'
      ' max_update_norm_ratio allows.',
      round_num,
      counts['num_rejected'],
    )
  if memories is not None:
    # Before the state is saved: if the round is run again, its memories replace
    # the memories kept here.
    held = memories.keep(held, round_num, cohort, output.memories)
  return output, held
