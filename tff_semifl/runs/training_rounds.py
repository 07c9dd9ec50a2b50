# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The rounds of a training program from one evaluation to the next."""

import collections
from collections.abc import Mapping
import time
from typing import Any

from absl import logging
import tensorflow as tf

from tff_semifl.core import federated_process
from tff_semifl.runs import memories as memories_lib
from tff_semifl.runs import pseudo_label_quality
from tff_semifl.runs import round_metrics
from tff_semifl.runs import training_program


def run_rounds(
  program: training_program.TrainingProgram,
  latest: training_program.ProgramState,
  last_round: int,
  memories: memories_lib.Memories | None,
) -> tuple[training_program.ProgramState, round_metrics.RoundMetrics]:
  """Runs the rounds up to `last_round`, and evaluates the model."""
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
    **measured, best_accuracy=max(latest.best_accuracy, measured['accuracy'])
  )
  final_test = _run_final_test(program, state)
  clients = program.clients
  quality = pseudo_label_quality.UNKNOWN
  if program.measures_pseudo_labels:
    quality = pseudo_label_quality.measure(
      output.given_labels, clients.true_labels(last_round)
    )
  metrics = round_metrics.RoundMetrics(
    test=() if program.validates else evaluation,
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
    validation=evaluation if program.validates else (),
    further=further,
  )
  if program.epsilon_fn is not None:
    metrics.aggregator['epsilon'] = program.epsilon_fn(last_round)
  metrics = tf.nest.map_structure(round_metrics.shortest, metrics)
  reached = training_program.ProgramState(
    state=state,
    round_num=last_round,
    accuracy=metrics.evaluation.accuracy,
    best_accuracy=metrics.evaluation.best_accuracy,
    memories=held,
    best=latest.best
    if program.model_choice is None
    else program.model_choice.update(
      latest.best, last_round, round_metrics.by_column(metrics)
    ),
  )
  return reached, metrics


def _run_final_test(
  program: training_program.TrainingProgram, state: Any
) -> Mapping[str, float]:
  if program.final_test is None:
    return collections.OrderedDict()
  tested = _compute_statistics(program.final_test, state)
  measured = program.evaluation(
    tested.global_model_weights, program.test_dataset
  )
  return collections.OrderedDict(
    accuracy=measured['accuracy'], loss=measured['loss']
  )


def _compute_statistics(
  statistics: training_program.StatisticsPass, state: Any
) -> Any:
  return state._replace(
    global_model_weights=statistics.computation(
      state.global_model_weights, statistics.data
    )
  )


def _run_process(
  program: training_program.TrainingProgram,
  state: Any,
  round_num: int,
  memories: memories_lib.Memories | None,
  held: Any,
) -> tuple[federated_process.RoundOutput, Any]:
  """Runs a round; returns its output and the memories in main memory."""
  clients = program.clients
  if (
    program.process.prepare is not None
    and round_num == 1
    and clients.clients_per_round
  ):
    state = program.process.prepare(
      state, program.server_dataset, clients.all_datasets()
    )
  arguments = state, program.server_dataset, clients.datasets(round_num)
  cohort = clients.cohort(round_num)
  if memories is not None:
    arguments += (memories.recall(held, round_num, cohort),)
  try:
    output = program.process.next(*arguments)
  except Exception as error:
    error.add_note(f'In round {round_num}.')
    raise
  _warn_of_rejections(round_num, output.metrics['client'])
  if memories is None:
    return output, held
  # Kept before the state is saved: if the round is run again, its memories
  # replace these.
  return output, memories.keep(held, round_num, cohort, output.memories)


def _warn_of_rejections(round_num: int, metrics: Mapping[str, float]) -> None:
  """Logs a warning if clients were rejected and no update is left."""
  if metrics['num_rejected'] > 0 and metrics['num_participating'] == 0:
    logging.warning(
      'Round %d: no update of a client counts. %d clients were rejected: what'
      ' they sent is not finite, or updates are longer than'
      ' max_update_norm_ratio allows.',
      round_num,
      metrics['num_rejected'],
    )
