# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training loop: rounds, evaluation, metrics, checkpoints, resuming."""

import collections
from collections.abc import Callable, Mapping, Sequence
import math
import time
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_states
from tff_semifl.core import federated_process
from tff_semifl.core import pseudo_labels
from tff_semifl.experiment import checkpoints as checkpoints_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import progress


class TrainingDivergedError(Exception):
  """Training diverged: weights or losses are not finite."""


class ProgramState(NamedTuple):
  """The state of training after a round, saved in checkpoints.

  `round_num` is -1 before any round. `memories` is what `Memories` hold in main
  memory, and `best` is the best round by `model_choice`; () stands for none.
  """

  state: Any
  round_num: int
  accuracy: float
  best_accuracy: float
  memories: Any = ()
  best: Any = ()


async def train(
  experiment: experiment_lib.Experiment,
  *,
  checkpoints: checkpoints_lib.Checkpoints,
  metrics_manager: tff.program.ReleaseManager,
  memories: client_states.Memories | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, metrics_table.RoundMetrics], None],
) -> ProgramState:
  """Runs the remaining rounds, and returns the last state.

  After each evaluation the metrics are released, then the state is saved: a
  killed program loses only the rounds after the last evaluation. Raises a
  TrainingDivergedError if weights or losses are not finite.

  `on_start` is called with the first round to run, unless early stopping has
  already ended training, and `on_round` after each evaluation.
  """
  choice = experiment.model_choice
  state = experiment.process.initialize()
  latest = ProgramState(
    state,
    -1,
    0.0,
    0.0,
    () if memories is None else memories.initialize(),
    ()
    if choice is None
    else model_selection.Best(weights=state.global_model_weights),
  )
  saved = checkpoints.load_latest(latest)
  if saved is not None:
    # The file gives NumPy scalars.
    latest = saved._replace(
      round_num=int(saved.round_num),
      accuracy=metrics_table.shortest(saved.accuracy),
      best_accuracy=metrics_table.shortest(saved.best_accuracy),
      best=saved.best
      and model_selection.Best(
        *(number.item() for number in saved.best[:-1]), saved.best.weights
      ),
    )
  if choice is not None and choice.is_over(latest.best):
    return latest
  on_start(latest.round_num + 1)
  interval = experiment.rounds_per_evaluation
  while latest.round_num < experiment.total_rounds:
    round_num = min(
      (latest.round_num // interval + 1) * interval, experiment.total_rounds
    )
    latest, metrics = _run_rounds(experiment, latest, round_num, memories)
    if not _is_finite(latest, metrics):
      raise TrainingDivergedError(
        f'weights or losses are not finite after round {round_num}; an earlier'
        ' state is saved'
      )
    await metrics_manager.release(metrics, round_num)
    checkpoints.save(latest, round_num)
    on_round(round_num, metrics)
    if choice is not None and choice.is_over(latest.best):
      break
  return latest


def _is_finite(
  state: ProgramState, metrics: metrics_table.RoundMetrics
) -> bool:
  # NaN in both means no server step: a diverged step has a finite accuracy.
  server = () if np.all(np.isnan(metrics.server)) else metrics.server
  # The whole state, because a momentum that is not finite would spoil the next
  # round.
  return all(
    np.all(np.isfinite(array))
    for array in tf.nest.flatten(
      (state.state, state.memories, server, metrics.evaluation)
    )
    # The state of a private mean also has byte strings.
    if np.issubdtype(np.asarray(array).dtype, np.floating)
  )


def _run_rounds(
  experiment: experiment_lib.Experiment,
  latest: ProgramState,
  last_round: int,
  memories: client_states.Memories | None,
) -> tuple[ProgramState, metrics_table.RoundMetrics]:
  start = time.monotonic()
  state, held = latest.state, latest.memories
  statistics = experiment.statistics
  for round_num in range(latest.round_num + 1, last_round + 1):
    output, held = _run_round(experiment, state, round_num, memories, held)
    state = output.state
    if statistics is not None and (
      statistics.for_clients or round_num == last_round
    ):
      state = state._replace(
        global_model_weights=statistics.computation(
          state.global_model_weights, statistics.data
        )
      )
  metrics = _measure(experiment, state, output, last_round, latest)
  metrics = tf.nest.map_structure(
    metrics_table.shortest, metrics._replace(seconds=time.monotonic() - start)
  )
  best = latest.best
  if experiment.model_choice is not None:
    best = experiment.model_choice.update(
      best,
      metrics_table.by_column(metrics),
      model_selection.Best(
        round_num=last_round,
        accuracy=metrics.evaluation.accuracy,
        weights=state.global_model_weights,
      ),
    )
  return ProgramState(
    state=state,
    round_num=last_round,
    accuracy=metrics.evaluation.accuracy,
    best_accuracy=metrics.evaluation.best_accuracy,
    memories=held,
    best=best,
  ), metrics


def _measure(
  experiment: experiment_lib.Experiment,
  state: Any,
  output: federated_process.RoundOutput,
  round_num: int,
  latest: ProgramState,
) -> metrics_table.RoundMetrics:
  measured = dict(
    experiment.evaluation(state.global_model_weights, experiment.test_dataset)
  )
  further = {}
  if experiment.measure is not None:
    kind = 'validation' if experiment.validates else 'test'
    further = {
      f'{kind}/{name}': value
      for name, value in experiment.measure(measured.pop('logits')).items()
    }
  evaluation = metrics_table.EvaluationMetrics(
    **measured, best_accuracy=max(latest.best_accuracy, measured['accuracy'])
  )
  clients = experiment.clients
  given_labels, true_labels = (), ()
  if experiment.measures_pseudo_labels:
    given_labels = output.given_labels
    true_labels = clients.true_labels(round_num)
  of_clients, own = {}, collections.OrderedDict()
  for name, value in output.metrics['client'].items():
    is_common = name in metrics_table.ClientMetrics._fields
    (of_clients if is_common else own)[name] = value
  aggregator = collections.OrderedDict(output.metrics['aggregator'])
  if experiment.epsilon_fn is not None:
    aggregator['epsilon'] = experiment.epsilon_fn(round_num)
  return metrics_table.RoundMetrics(
    test=() if experiment.validates else evaluation,
    server=metrics_table.ServerMetrics(**output.metrics['server']),
    client=metrics_table.ClientMetrics(
      **of_clients,
      **measure_pseudo_labels(given_labels, true_labels),
      num_dropped=float(
        len(clients.chosen(round_num)) - len(clients.cohort(round_num))
      ),
      own=own,
    ),
    learning_rate=output.metrics['learning_rate'],
    seconds=0.0,
    aggregator=aggregator,
    validation=evaluation if experiment.validates else (),
    further=further,
  )


def _run_round(
  experiment: experiment_lib.Experiment,
  state: Any,
  round_num: int,
  memories: client_states.Memories | None,
  held: Any,
) -> tuple[federated_process.RoundOutput, Any]:
  """Runs a round; returns its output, and `held` as updated by `memories`."""
  process, clients = experiment.process, experiment.clients
  if round_num == 1 and clients.clients_per_round:
    at_server = experiment.preparation_dataset or experiment.server_dataset
    for prepare in progress.follow('preparing', process.preparations):
      state = prepare(state, at_server, clients.preparation_datasets())
  arguments = state, experiment.server_dataset, clients.datasets(round_num)
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
      'Round %d: no client update was used. %d clients were rejected: their'
      ' values are not finite, or their updates are longer than'
      ' max_update_norm_ratio allows.',
      round_num,
      counts['num_rejected'],
    )
  if memories is not None:
    held = memories.keep(held, round_num, cohort, output.memories)
  return output, held


def measure_pseudo_labels(
  given_labels: Sequence[pseudo_labels.GivenLabels],
  true_labels: Sequence[np.ndarray],
) -> dict[str, float]:
  """Measures a round's pseudo-labels: float32 fields of `ClientMetrics`.

  `true_labels` are int32 [images of the client], for each client of the cohort.
  """
  is_right = np.concatenate(
    [
      np.zeros(0, bool),
      *(
        truth[given.image] == given.label
        for given, truth in zip(given_labels, true_labels, strict=True)
      ),
    ]
  )
  share = np.concatenate([np.zeros(0), *(each.share for each in given_labels)])
  means = {
    'pseudo_accuracy': is_right,
    'threshold_accuracy': is_right * share,
    'micro_threshold_accuracy': is_right[share > 0],
  }
  return {
    name: np.float32(values.mean()) if len(values) else math.nan
    for name, values in means.items()
  }
