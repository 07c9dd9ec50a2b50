# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work: the local training of each client, and what it returns."""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_report
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional

# (weights, round context, {'client_id', 'image'}, optimizer state) -> result of
# local training.
LocalTrainingFn = Callable[
  [
    functional.ModelWeights,
    federated_process.RoundContext,
    Mapping[str, tf.Tensor],
    Any,
  ],
  client_report.LocalTraining,
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientWork:
  """What each client of a round does, in plain TensorFlow.

  Attributes:
    update: (<model weights, `RoundContext`>, chunks of the client's data, and
      the client's memory if clients have any) -> `ClientResult`, `ClientSums`.
    data_type: The type of a client's data.
    initialize_memory: ( -> a client's memory before its first round), or None
      if clients have no memory.
  """

  update: Callable[
    ..., tuple[client_report.ClientResult, client_report.ClientSums]
  ]
  data_type: tff.SequenceType
  initialize_memory: Callable[[], Any] | None = None


def build_client_work(
  classifier: functional.ImageClassifier,
  train_fn: LocalTrainingFn,
  *,
  data_type: tff.SequenceType | None = None,
  optimizer: tff.learning.optimizers.Optimizer,
  keep_optimizer_state: bool = False,
  max_update_norm_ratio: float,
  measure_weight_diversity: bool = True,
  return_given_labels: bool = False,
) -> ClientWork:
  """Builds client work in which each client runs `train_fn`.

  The update is the received weights minus the trained weights, with the
  weight that `train_fn` returns: 0 for a client without an update. A client is
  rejected if its update is too long, or if the norm of its update or of its
  weight, loss, report and measurements is not finite in float32. A rejected
  update is zero and has weight 0; the client's report and measurements are left
  out of all sums.

  Args:
    data_type: By default `pipelines.client_type`.
    optimizer: The optimizer of `train_fn`; rounds set its learning rate.
    keep_optimizer_state: Whether clients keep the optimizer state as a memory
      from round to round, as in the code of SemiFL's authors.
    max_update_norm_ratio: Largest norm of an update, as a multiple of the norm
      of the received weights, or of 1 if that is larger; infinity for no limit.
    measure_weight_diversity: Whether to measure how much updates differ, from
      sums that no aggregator protects.
    return_given_labels: Whether results have `GivenLabels`.
  """
  kernel_index = None
  if measure_weight_diversity:
    kernel_index = client_report.find_classifier_kernel(classifier)

  def initialize_optimizer() -> Any:
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  def update_client(received: Any, dataset: tf.data.Dataset, memory: Any):
    weights, context = received
    local = train_fn(
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizer.set_hparams(
        memory, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      ),
    )
    return client_report.report(
      weights,
      memory,
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
      return_given_labels=return_given_labels,
    )

  def update_client_afresh(received: Any, dataset: tf.data.Dataset):
    result, sums = update_client(received, dataset, initialize_optimizer())
    return result._replace(memory=()), sums

  return ClientWork(
    update=update_client if keep_optimizer_state else update_client_afresh,
    data_type=data_type or pipelines.client_type(classifier.image_shape),
    initialize_memory=initialize_optimizer if keep_optimizer_state else None,
  )
