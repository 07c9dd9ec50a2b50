# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A training program: a process, its data, and its state."""

from collections.abc import Callable, Mapping
import dataclasses
import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.data import mapped_images as mapped_images_lib
from tff_semifl.data import pipelines


class Best(NamedTuple):
  """The best evaluated round, which a checkpoint holds.

  Attributes:
    value: The metric after this round; NaN if NaN in all rounds.
    round_num: The first round with this value; -1 if there is none.
    num_since: Evaluations since this round, or since training began.
  """

  value: float = math.nan
  round_num: int = -1
  num_since: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelChoice:
  """The metric that selects a model, and the patience of early stopping.

  Attributes:
    column: The metric's column in `metrics.csv`.
    higher_is_better: Whether a higher value is better.
    stop_after: Training ends after this many evaluations without improvement;
      None disables early stopping.
  """

  column: str
  higher_is_better: bool
  stop_after: int | None = None

  def update(
    self, best: Best, round_num: int, columns: Mapping[str, float]
  ) -> Best:
    """Updates the best round with `round_num`; the earlier round wins a tie."""
    value = columns[self.column]
    is_better = (
      value > best.value if self.higher_is_better else (value < best.value)
    )
    # A comparison with NaN is false.
    if is_better or (math.isnan(best.value) and not math.isnan(value)):
      return Best(value, round_num, 0)
    return best._replace(num_since=best.num_since + 1)

  def is_over(self, best: Best) -> bool:
    """Whether training stops early."""
    return self.stop_after is not None and best.num_since >= self.stop_after


class StatisticsPass(NamedTuple):
  """Batch normalization statistics that are computed between rounds.

  Attributes:
    computation: Computation `(<W@SERVER, data> -> W@SERVER)`, from a builder of
      `batch_norm_statistics`.
    data: The computation's data: a dataset, or one for each client.
    for_clients: Whether clients use the received statistics, as when labeling
      images with the received model. If not, the statistics are computed only
      for evaluations.
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
    memories: The part of `Memories` in main memory; the empty tuple without
      memories.
    best: The best round by the program's `model_choice`; the empty tuple
      without a choice.
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
    process: The learning process of a system.
    evaluation: A computation from `evaluation.build_evaluation`.
    server_dataset: The server's labeled images, of `pipelines.labeled_type`.
    clients: The clients, and the cohort of each round.
    test_dataset: Labeled images to evaluate on.
    validates: Whether `test_dataset` is a validation split; metrics are then
      named `validation/`.
    total_rounds: The last round to run; the first is round 0.
    rounds_per_evaluation: Interval in rounds of evaluating the model and saving
      the state; the last round is always included. Metrics of server and
      clients come from the evaluated round alone.
    measures_pseudo_labels: Whether the pseudo-labels of evaluated rounds are
      compared with the true labels, which must be known. The process must
      return the pseudo-labels (see `RoundOutput`).
    statistics: Computes the model's batch normalization statistics after a
      round; None if the process computes them or the model has none.
    mapped_images: The images that the computations look up if the data are
      indices (see `take_indices`), else None.
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
  mapped_images: mapped_images_lib.MappedImages | None = None
  epsilon_fn: Callable[[int], float] | None = None
  measure: Callable[[np.ndarray], Mapping[str, float]] | None = None
  model_choice: ModelChoice | None = None


Program = TypeVar('Program', bound=TrainingProgram)


def take_indices(
  program: Program, images: mapped_images_lib.MappedImages
) -> Program:
  """A program whose computations take indices and look up images.

  The given program's data have indices in place of images, from
  `MappedImages.references`.
  """

  def convert(computation):
    return mapped_images_lib.take_indices(computation, images)

  def convert_pass(statistics):
    return statistics and statistics._replace(
      computation=convert(statistics.computation)
    )

  process = program.process
  return dataclasses.replace(
    program,
    process=federated_process.FederatedProcess(
      process.initialize,
      convert(process.next),
      process.initialize_memory,
      process.prepare and convert(process.prepare),
    ),
    evaluation=convert(program.evaluation),
    statistics=convert_pass(program.statistics),
    mapped_images=images,
  )
