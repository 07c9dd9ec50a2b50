# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The turn of a client, as a process that is placed at clients.

Each algorithm says by a function what a client makes of its images. Here it
becomes a process that reports updates and measurements.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import round_context
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import client_report
from tff_semifl.training import client_work_process
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity

# (weights, round context, {'client_id', 'image'}, optimizer state, labels to
# extend) -> training.
LocalTrainingFn = Callable[
  [
    functional.ModelWeights,
    round_context.RoundContext,
    Mapping[str, tf.Tensor],
    Any,
    given_labels_lib.KeptLabels,
  ],
  client_report.LocalTraining,
]


def build_client_work(
  classifier: functional.ImageClassifier,
  train_fn: LocalTrainingFn,
  *,
  data_type: tff.SequenceType | None = None,
  optimizer: tff.learning.optimizers.Optimizer,
  keep_optimizer_state: bool,
  max_update_norm_ratio: float,
  measure_weight_diversity: bool = True,
  return_given_labels: bool = False,
  context_type: tff.Type = round_context.ROUND_CONTEXT_TYPE,
) -> client_work_process.ClientWorkProcess:
  """Builds client work in which each client's turn is `train_fn`.

  The update is the received weights minus the trained ones. Its weight is that
  of `train_fn`, which is 0 for a client without an update to report (A.11,
  A.12). The weight is also 0 if the update is rejected: because the update, its
  weight, its loss, or anything in its report or measurements is not finite, or
  because it is too long. Such an update is zero, and the report and the
  measurements of a rejected client are in no sum.

  Args:
    classifier: The model.
    train_fn: Trains on a client's images.
    data_type: The type of a client's data. By default `pipelines.client_type`.
    optimizer: The optimizer of `train_fn`. Its learning rate is set to the
      round's.
    keep_optimizer_state: Whether a client goes on with the optimizer state of
      its last turn, as in the authors' code, instead of starting afresh (D5).
      This state is its memory then.
    max_update_norm_ratio: Largest length of an update, as a multiple of that of
      the received weights, or of 1 if that is larger; infinity for no limit.
    measure_weight_diversity: Whether to measure how much the updates differ
      (see `weight_diversity.measure`), from sums of them that no aggregator
      protects.
    return_given_labels: Whether results have `GivenLabels`.
    context_type: The type of `RoundContext`, if it has guidance.

  Returns:
    A `ClientWorkProcess` without state. With W for model weights, R for
    `RoundContext` and U for chunks of `pipelines.client_type`:

        next: (<<>@SERVER, {<W, R>}@CLIENTS, {U*}@CLIENTS>
               -> <state=<>@SERVER,
                   result={ClientResult}@CLIENTS,
                   measurements=<loss, accuracy, label_ratio, ...,
                                 num_participating, num_rejected,
                                 weight_diversity,
                                 relative_weight_diversity>@SERVER>)

    The dots stand for further measurements of `train_fn`. A measurement of
    nothing is not a number: the loss if no image was trained on, the label
    ratio if no image was labeled, the diversity if no kernel changed.
  """
  kernel_index = None
  if measure_weight_diversity:
    kernel_index = weight_diversity.find_classifier_kernel(classifier)
  received_type = tff.types.to_type((classifier.weights_type, context_type))
  data_type = data_type or pipelines.client_type(classifier.image_shape)

  def initialize_optimizer() -> Any:
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  def train_and_report(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ):
    local = train_fn(
      weights,
      context,
      data,
      optimizer.set_hparams(
        optimizer_state,
        {optimizers.LEARNING_RATE_KEY: context.learning_rate},
      ),
      given_labels_lib.none()
      if return_given_labels
      else given_labels_lib.NOT_KEPT,
    )
    return client_report.report(
      weights,
      optimizer_state,
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
    )

  def take_turn(received: Any, dataset: tf.data.Dataset, optimizer_state: Any):
    data = pipelines.concatenate_chunks(dataset)
    result, sums = train_and_report(*received, data, optimizer_state)
    given_labels = given_labels_lib.drop_padding(result.given_labels)
    return result._replace(given_labels=given_labels), sums

  if keep_optimizer_state:
    initialize_memory = tff.tensorflow.computation(initialize_optimizer)
    memory_type = initialize_memory.type_signature.result
    return client_work_process.build_client_work_process(
      tff.tensorflow.computation(
        take_turn, [received_type, data_type, memory_type]
      ),
      client_report.summarize,
      initialize_memory,
    )

  @tff.tensorflow.computation(received_type, data_type)
  def take_turn_afresh(received: Any, dataset: tf.data.Dataset):
    result, sums = take_turn(received, dataset, initialize_optimizer())
    return result._replace(memory=()), sums

  return client_work_process.build_client_work_process(
    take_turn_afresh, client_report.summarize
  )
