# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training program: rounds, evaluation, metrics, checkpoints, resuming."""

from collections.abc import Callable
import dataclasses
import math
import time
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import stateful_process
from tff_semifl.data import mapped_images as mapped_images_lib
from tff_semifl.data import pipelines
from tff_semifl.programs import client_states as client_states_lib
from tff_semifl.work import round_context


class TrainingDivergedError(Exception):
  """The weights are of no use any more."""


class TestMetrics(NamedTuple):
  """The global model on the test images, after the server's turn.

  Attributes:
    accuracy: Share of right predictions.
    loss: Mean cross-entropy.
    best_accuracy: The highest accuracy up to this round (D16).
  """

  accuracy: float
  loss: float
  best_accuracy: float


class ServerMetrics(NamedTuple):
  """The server's training, over all its steps of the round."""

  loss: float
  accuracy: float


class ClientMetrics(NamedTuple):
  """The clients of the round; all 0 if there are none.

  Attributes:
    loss: Mean training loss.
    accuracy: Share of strong views that the models being trained gave their
      pseudo-label.
    label_ratio: Share of images whose pseudo-label was trained on.
    pseudo_accuracy: Share of right pseudo-labels.
    threshold_accuracy: Share of right ones among those trained on, averaged
      over clients (D17).
    micro_threshold_accuracy: The same over all images of all clients.
    num_participating: Clients whose update counted.
  """

  loss: float
  accuracy: float
  label_ratio: float
  pseudo_accuracy: float
  threshold_accuracy: float
  micro_threshold_accuracy: float
  num_participating: float


class StatisticsPass(NamedTuple):
  """Batch normalisation statistics that are computed between rounds.

  Attributes:
    computation: `(<W@SERVER, data> -> W@SERVER)`, from one of the builders of
      `batch_norm_statistics`.
    data: What it takes: a dataset, or one for each client.
  """

  computation: tff.Computation
  data: Any


class RoundMetrics(NamedTuple):
  """One row of `metrics.csv`; a field `b` of a part `a` is column `a/b`.

  Scripts of users read these columns: do not rename or reorder them.
  """

  test: TestMetrics
  server: ServerMetrics
  client: ClientMetrics
  learning_rate: float
  seconds: float


class ProgramState(NamedTuple):
  """What a checkpoint holds.

  Attributes:
    state: The process's state after the last round.
    round_num: The last round that was run; -1 before any.
    accuracy: The test accuracy after it.
    best_accuracy: The highest test accuracy so far (D16).
  """

  state: alternating.AlternatingState
  round_num: int
  accuracy: float
  best_accuracy: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingProgram:
  """What to train and on what; see `train`.

  Attributes:
    process: From `compose_alternating_process`.
    evaluation: From `build_evaluation`.
    pseudo_label_evaluation: From `build_pseudo_label_evaluation`, or None not
      to compare pseudo-labels with the truth.
    server_dataset: The server's labelled images, of `pipelines.labelled_type`.
    clients: The clients and who of them takes part in which round.
    test_dataset: Labelled images to evaluate on.
    total_rounds: The last round to run. Round 0 comes before the first.
    statistics: What gives the model its batch normalisation statistics after
      each round, or None if the process itself does, or there are none.
    mapped_images: What the computations read images from, as long as the
      program has it, if the data are indices (see `by_reference`); else None.
  """

  process: tff.templates.IterativeProcess
  evaluation: tff.Computation
  pseudo_label_evaluation: tff.Computation | None
  server_dataset: tf.data.Dataset
  clients: pipelines.ClientPopulation
  test_dataset: tf.data.Dataset
  total_rounds: int
  statistics: StatisticsPass | None = None
  mapped_images: mapped_images_lib.MappedImages | None = None


async def train(
  program: TrainingProgram,
  *,
  state_manager: tff.program.ProgramStateManager,
  metrics_manager: tff.program.ReleaseManager,
  client_states: client_states_lib.ClientStates | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, RoundMetrics], None],
) -> ProgramState:
  """Runs the rounds that have not been run yet.

  After each round its metrics are released and then its state is saved, so
  that a program that is killed at any moment loses at most the round it was
  in: it is run again, and its metrics are written again.

  Args:
    program: What to train.
    state_manager: Keeps `ProgramState`s, with the round as version.
    metrics_manager: Takes `RoundMetrics`, with the round as key.
    client_states: Keeps the clients' states of a `StatefulProcess`.
    on_start: Called with the number of the round that comes first.
    on_round: Called after each round with its number and its metrics.

  Returns:
    The state after the last round.

  Raises:
    TrainingDivergedError: If a loss is not finite after a round.
  """
  # The first state tells the manager what structure to load.
  latest = ProgramState(program.process.initialize(), -1, 0.0, 0.0)
  saved, _ = await state_manager.load_latest(latest)
  if saved is not None:
    # Numbers come back from disk as NumPy's.
    latest = ProgramState(
      saved.state,
      int(saved.round_num),
      _shortest(saved.accuracy),
      _shortest(saved.best_accuracy),
    )
  on_start(latest.round_num + 1)
  for round_num in range(latest.round_num + 1, program.total_rounds + 1):
    state, metrics = _run_round(program, latest, round_num, client_states)
    if not math.isfinite(metrics.server.loss + metrics.test.loss):
      raise TrainingDivergedError(
        f'the loss is no number after round {round_num}; lower steps may help.'
        ' What was before that round is saved'
      )
    latest = ProgramState(
      state=state,
      round_num=round_num,
      accuracy=metrics.test.accuracy,
      best_accuracy=metrics.test.best_accuracy,
    )
    await metrics_manager.release(metrics, round_num)
    await state_manager.save(latest, round_num)
    on_round(round_num, metrics)
  return latest


def _run_round(
  program: TrainingProgram,
  latest: ProgramState,
  round_num: int,
  client_states: client_states_lib.ClientStates | None,
) -> tuple[alternating.AlternatingState, RoundMetrics]:
  """Runs one round and measures what came of it."""
  start = time.monotonic()
  state = latest.state
  pseudo_labels = {
    'pseudo_accuracy': 0.0,
    'threshold_accuracy': 0.0,
    'micro_threshold_accuracy': 0.0,
  }
  if program.pseudo_label_evaluation is not None:
    # Before the round: these are the labels that it will train on.
    pseudo_labels = program.pseudo_label_evaluation(
      state.global_model_weights,
      # The views do not depend on the learning rate.
      round_context.RoundContext(state.seed, state.round_num, np.float32(0)),
      program.clients.datasets_with_true_labels(round_num),
    )
  output = _run_process(program, state, round_num, client_states)
  state = output.state
  if program.statistics is not None:
    weights = program.statistics.computation(
      state.global_model_weights, program.statistics.data
    )
    state = state._replace(global_model_weights=weights)
  test = program.evaluation(state.global_model_weights, program.test_dataset)
  metrics = RoundMetrics(
    test=TestMetrics(
      **test, best_accuracy=max(latest.best_accuracy, test['accuracy'])
    ),
    server=ServerMetrics(**output.metrics['server']),
    client=ClientMetrics(**output.metrics['client'], **pseudo_labels),
    learning_rate=output.metrics['learning_rate'],
    seconds=time.monotonic() - start,
  )
  return state, tf.nest.map_structure(_shortest, metrics)


def _run_process(
  program: TrainingProgram,
  state: alternating.AlternatingState,
  round_num: int,
  client_states: client_states_lib.ClientStates | None,
) -> tff.learning.templates.LearningProcessOutput:
  """Runs the process's round; clients bring their states and take them home."""
  arguments = state, program.server_dataset, program.clients.datasets(round_num)
  if not isinstance(program.process, stateful_process.StatefulProcess):
    return program.process.next(*arguments)
  cohort = program.clients.cohort(round_num)
  output = program.process.next(
    *arguments, client_states.load(cohort, round_num)
  )
  # Before the round is saved: if it is run again, they are written again.
  client_states.save(cohort, output.client_states, round_num)
  return output


def _shortest(value: np.float32 | float) -> float:
  """Returns the shortest decimal that is the same float32: 0.03, say."""
  return float(str(value))
