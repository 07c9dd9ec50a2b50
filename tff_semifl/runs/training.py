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

from tff_semifl.core import federated_process
from tff_semifl.data import mapped_images as mapped_images_lib
from tff_semifl.data import pipelines
from tff_semifl.runs import best_models as best_models_lib
from tff_semifl.runs import memories as memories_lib
from tff_semifl.runs import model_choice as model_choice_lib
from tff_semifl.runs import pseudo_label_quality
from tff_semifl.runs import round_metrics


class TrainingDivergedError(Exception):
  """Training has diverged: weights or losses are not finite."""


class StatisticsPass(NamedTuple):
  """Batch normalization statistics that are computed between rounds.

  Attributes:
    computation: Computation `(<W@SERVER, data> -> W@SERVER)`, from a builder of
      `batch_norm_statistics`.
    data: The computation's data: a dataset, or one for each client.
    for_clients: Whether clients use the received statistics, as they do when
      they label images with the received model. If not, the statistics are
      computed only for evaluations.
  """

  computation: tff.Computation
  data: Any
  for_clients: bool = True


class ProgramState(NamedTuple):
  """The state of a training program, which a checkpoint holds.

  Attributes:
    state: The process's state after the latest round.
    round_num: The latest round; -1 before any.
    accuracy: The accuracy after this round, on the evaluated images.
    best_accuracy: The highest accuracy of all rounds.
    memories: The memories that `Memories` hold in main memory; the empty tuple
      if there are none.
    best: The best round by the program's choice of a model; the empty tuple
      without one.
  """

  state: Any
  round_num: int
  accuracy: float
  best_accuracy: float
  memories: Any = ()
  best: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingProgram:
  """A process with its data and the settings of its training.

  Attributes:
    process: A process of `tff_semifl.algorithms`.
    evaluation: A computation from `build_evaluation`.
    server_dataset: The server's labeled images, of `pipelines.labeled_type`.
    clients: The clients, and the cohort of each round.
    test_dataset: Labeled images to evaluate on.
    validates: Whether these are a validation split, and metrics say so.
    total_rounds: The last round to run; the first is round 0.
    rounds_per_evaluation: Interval in rounds of evaluating the model and saving
      the state; the last round is always included. Metrics of server and
      clients are those of the evaluated round alone.
    measures_pseudo_labels: Whether the pseudo-labels of evaluated rounds are
      compared with the true labels, which must be known. The process must
      return the pseudo-labels (see `RoundOutput`).
    statistics: Computes the model's batch normalization statistics after a
      round; None if the process computes them or the model has none.
    final_test: Computes other statistics, with which each evaluation tests the
      model once more, or None.
    mapped_images: The images that the computations look up if the data are
      indices (see `by_reference`), else None. They are kept alive here.
    epsilon_fn: Round -> epsilon after this round; None without differential
      privacy of clients.
    measure: Logits of the evaluated images -> further metrics by name, or None.
      The evaluation must then return logits.
    model_choice: How the model of a round is chosen; None for the last round.
  """

  process: federated_process.FederatedProcess
  evaluation: tff.Computation
  server_dataset: tf.data.Dataset
  clients: pipelines.ClientPopulation
  test_dataset: tf.data.Dataset
  validates: bool = False
  total_rounds: int
  rounds_per_evaluation: int = 1
  measures_pseudo_labels: bool = False
  statistics: StatisticsPass | None = None
  final_test: StatisticsPass | None = None
  mapped_images: mapped_images_lib.MappedImages | None = None
  epsilon_fn: Callable[[int], float] | None = None
  measure: Callable[[np.ndarray], Mapping[str, float]] | None = None
  model_choice: model_choice_lib.ModelChoice | None = None


async def train(
  program: TrainingProgram,
  *,
  state_manager: tff.program.ProgramStateManager,
  metrics_manager: tff.program.ReleaseManager,
  memories: memories_lib.Memories | None = None,
  best_models: best_models_lib.BestModels | None = None,
  on_start: Callable[[int], None],
  on_round: Callable[[int, round_metrics.RoundMetrics], None],
) -> ProgramState:
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
  latest = ProgramState(
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
    latest = ProgramState(
      saved.state,
      int(saved.round_num),
      _shortest(saved.accuracy),
      _shortest(saved.best_accuracy),
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


def _next_evaluation(program: TrainingProgram, round_num: int) -> int:
  interval = program.rounds_per_evaluation
  return min((round_num // interval + 1) * interval, program.total_rounds)


def _is_finite(
  reached: ProgramState, metrics: round_metrics.RoundMetrics
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


def _run_rounds(
  program: TrainingProgram,
  latest: ProgramState,
  last_round: int,
  memories: memories_lib.Memories | None,
) -> tuple[ProgramState, round_metrics.RoundMetrics]:
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
  metrics = tf.nest.map_structure(_shortest, metrics)
  reached = ProgramState(
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
  program: TrainingProgram, state: Any
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


def _compute_statistics(statistics: StatisticsPass, state: Any) -> Any:
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


def _shortest(value: np.float32 | float) -> float:
  """The shortest decimal of the same float32, such as 0.03."""
  return float(str(value))
