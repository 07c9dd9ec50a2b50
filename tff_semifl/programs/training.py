# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training program: rounds, evaluation, metrics, checkpoints, resuming."""

import collections
from collections.abc import Callable, Mapping
import dataclasses
import time
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import federated_process
from tff_semifl.data import mapped_images as mapped_images_lib
from tff_semifl.data import pipelines
from tff_semifl.programs import memories as memories_lib
from tff_semifl.programs import pseudo_label_quality
from tff_semifl.programs import round_metrics


class TrainingDivergedError(Exception):
  """The weights are of no use any more."""


class StatisticsPass(NamedTuple):
  """Batch normalisation statistics that are computed between rounds.

  Attributes:
    computation: `(<W@SERVER, data> -> W@SERVER)`, from one of the builders of
      `batch_norm_statistics`.
    data: What it takes: a dataset, or one for each client.
    for_clients: Whether clients go by the statistics that they receive, as they
      do when they label images with the model. If not, those of rounds without
      an evaluation are not computed.
  """

  computation: tff.Computation
  data: Any
  for_clients: bool = True


class ProgramState(NamedTuple):
  """What a checkpoint holds.

  Attributes:
    state: The process's state after the last round.
    round_num: The last round that was run; -1 before any.
    accuracy: The test accuracy after it.
    best_accuracy: The highest test accuracy so far (D16).
    memories: What `Memories` hold after it, if they hold anything.
  """

  state: Any
  round_num: int
  accuracy: float
  best_accuracy: float
  memories: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingProgram:
  """What to train and on what; see `train`.

  Attributes:
    process: One of `tff_semifl.algorithms`.
    evaluation: From `build_evaluation`.
    measures_pseudo_labels: Whether the pseudo-labels of evaluated rounds are
      compared with the truth. The process must return them (see
      `RoundOutput`), and the labels of the clients' images be true.
    server_dataset: The server's labelled images, of `pipelines.labelled_type`.
    clients: The clients and who of them takes part in which round.
    test_dataset: Labelled images to evaluate on.
    total_rounds: The last round to run. Round 0 comes before the first.
    rounds_per_evaluation: After every so many rounds, and after the last, the
      model is evaluated and all is saved. What metrics say of server and
      clients is of the last of these rounds.
    statistics: What gives the model its batch normalisation statistics after
      each round, or None if the process itself does, or there are none.
    final_test: What gives it other ones to be tested with once more at each
      evaluation, and for nothing else (D11); or None.
    mapped_images: What the computations read images from, as long as the
      program has it, if the data are indices (see `by_reference`); else None.
    epsilon_fn: Round -> epsilon spent up to it, or None if clients have no
      differential privacy.
  """

  process: federated_process.FederatedProcess
  evaluation: tff.Computation
  server_dataset: tf.data.Dataset
  clients: pipelines.ClientPopulation
  test_dataset: tf.data.Dataset
  total_rounds: int
  rounds_per_evaluation: int = 1
  measures_pseudo_labels: bool = False
  statistics: StatisticsPass | None = None
  final_test: StatisticsPass | None = None
  mapped_images: mapped_images_lib.MappedImages | None = None
  epsilon_fn: Callable[[int], float] | None = None


async def train(
  program: TrainingProgram,
  *,
  state_manager: tff.program.ProgramStateManager,
  metrics_manager: tff.program.ReleaseManager,
  memories: memories_lib.Memories | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, round_metrics.RoundMetrics], None],
) -> ProgramState:
  """Runs the rounds that have not been run yet.

  After each evaluation metrics are released and then the state is saved, so
  that a program that is killed at any moment loses at most the rounds since:
  they are run again, and their metrics are written again. Rounds that end with
  weights or losses that are not finite are run once more, in case that a
  device erred; on one that does not err they end as before.

  Args:
    program: What to train.
    state_manager: Keeps `ProgramState`s, with the round as version.
    metrics_manager: Takes `round_metrics.RoundMetrics`, with the round as key.
    memories: Keeps what is remembered of clients; None if nothing is.
    on_start: Called with the number of the round that comes first.
    on_round: Called after each evaluation with the number of the round and
      its metrics.

  Returns:
    The state after the last round.

  Raises:
    TrainingDivergedError: If rounds have ended so twice.
    ValueError: If nobody keeps what the process remembers of clients, or
      somebody is to keep what it does not.
  """
  if (program.process.initialize_memory is None) != (memories is None):
    raise ValueError(
      '`memories` must be given if the process remembers something of clients,'
      f' and only then; found {memories}.'
    )
  # The first state tells the manager what structure to load.
  latest = ProgramState(
    program.process.initialize(),
    -1,
    0.0,
    0.0,
    () if memories is None else memories.initialize(),
  )
  saved, _ = await state_manager.load_latest(latest)
  if saved is not None:
    # Numbers come back from disk as NumPy's.
    latest = ProgramState(
      saved.state,
      int(saved.round_num),
      _shortest(saved.accuracy),
      _shortest(saved.best_accuracy),
      saved.memories,
    )
  on_start(latest.round_num + 1)
  while latest.round_num < program.total_rounds:
    round_num = _next_evaluation(program, latest.round_num)
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
          ' run twice; smaller steps may help. What was before that round is'
          ' saved'
        )
    latest = reached
    await metrics_manager.release(metrics, round_num)
    await state_manager.save(latest, round_num)
    on_round(round_num, metrics)
  return latest


def _next_evaluation(program: TrainingProgram, round_num: int) -> int:
  """Returns the first round after this one that is evaluated."""
  interval = program.rounds_per_evaluation
  return min((round_num // interval + 1) * interval, program.total_rounds)


def _is_finite(
  reached: ProgramState, metrics: round_metrics.RoundMetrics
) -> bool:
  """Returns whether rounds have left anything to go on with."""
  # Of no step there is neither loss nor accuracy; a step that fails has one.
  server = () if np.all(np.isnan(metrics.server)) else metrics.server
  # Momentum that is not finite would spoil the next round instead.
  return all(
    np.all(np.isfinite(array))
    for array in tf.nest.flatten(
      (reached.state, reached.memories, server, metrics.test)
    )
    if np.issubdtype(np.asarray(array).dtype, np.floating)
  )


def _run_rounds(
  program: TrainingProgram,
  latest: ProgramState,
  last_round: int,
  memories: memories_lib.Memories | None,
) -> tuple[ProgramState, round_metrics.RoundMetrics]:
  """Runs the rounds up to one, and measures what came of it."""
  start = time.monotonic()
  state, held = latest.state, latest.memories
  statistics = program.statistics
  for round_num in range(latest.round_num + 1, last_round):
    output, held = _run_process(program, state, round_num, memories, held)
    state = output.state
    if statistics is not None and statistics.for_clients:
      state = _compute_statistics(statistics, state)
  output, held = _run_process(program, state, last_round, memories, held)
  state = output.state
  if statistics is not None:
    state = _compute_statistics(statistics, state)
  test = program.evaluation(state.global_model_weights, program.test_dataset)
  final_test = _run_final_test(program, state)
  clients = program.clients
  quality = pseudo_label_quality.UNKNOWN
  if program.measures_pseudo_labels:
    quality = pseudo_label_quality.measure(
      output.given_labels, clients.true_labels(last_round)
    )
  metrics = round_metrics.RoundMetrics(
    test=round_metrics.TestMetrics(
      **test, best_accuracy=max(latest.best_accuracy, test['accuracy'])
    ),
    server=round_metrics.ServerMetrics(**output.metrics['server']),
    client=round_metrics.create_client_metrics(
      output.metrics['client'],
      **quality._asdict(),
      num_dropped=float(
        len(clients.chosen(last_round)) - len(clients.cohort(last_round))
      ),
    ),
    learning_rate=output.metrics['learning_rate'],
    seconds=time.monotonic() - start,
    aggregator=collections.OrderedDict(output.metrics['aggregator']),
    final_test=final_test,
  )
  if program.epsilon_fn is not None:
    metrics.aggregator['epsilon'] = program.epsilon_fn(last_round)
  metrics = tf.nest.map_structure(_shortest, metrics)
  reached = ProgramState(
    state=state,
    round_num=last_round,
    accuracy=metrics.test.accuracy,
    best_accuracy=metrics.test.best_accuracy,
    memories=held,
  )
  return reached, metrics


def _run_final_test(
  program: TrainingProgram, state: Any
) -> Mapping[str, float]:
  """Tests the model with other statistics than it goes on with (D11)."""
  if program.final_test is None:
    return collections.OrderedDict()
  tested = _compute_statistics(program.final_test, state)
  return collections.OrderedDict(
    program.evaluation(tested.global_model_weights, program.test_dataset)
  )


def _compute_statistics(statistics: StatisticsPass, state: Any) -> Any:
  """Returns a state whose weights have statistics of their own."""
  return state._replace(
    global_model_weights=statistics.computation(
      state.global_model_weights, statistics.data
    )
  )


def _run_process(
  program: TrainingProgram,
  state: Any,
  round_num: int,
  memories: memories_lib.Memories | None,
  held: Any,
) -> tuple[federated_process.RoundOutput, Any]:
  """Runs the process's round; returns its output, and what memories hold."""
  arguments = state, program.server_dataset, program.clients.datasets(round_num)
  if memories is None:
    return program.process.next(*arguments), held
  cohort = program.clients.cohort(round_num)
  output = program.process.next(
    *arguments, memories.recall(held, round_num, cohort)
  )
  # Before the round is saved: if it is run again, they are kept again.
  return output, memories.keep(held, round_num, cohort, output.memories)


def _shortest(value: np.float32 | float) -> float:
  """Returns the shortest decimal that is the same float32: 0.03, say."""
  return float(str(value))
