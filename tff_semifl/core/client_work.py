# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work: a TFF process of the local training of each client."""

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
# extend) -> result of local training.
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
  """Builds client work in which each client runs `train_fn`.

  The update is the received weights minus the trained ones, with the weight
  that `train_fn` returns: 0 for a client without an update. A client is
  rejected if its update is too long, or if the norm of its update or of its
  weight, loss, report and measurements is not finite in float32. A rejected
  update is zero and has weight 0; the client's report and measurements are in
  no sum.

  Args:
    classifier: The model.
    train_fn: Trains on a client's images.
    data_type: The type of a client's data; by default `pipelines.client_type`.
    optimizer: The optimizer of `train_fn`; its learning rate is set to the
      round's.
    keep_optimizer_state: Whether clients keep the optimizer state from round to
      round, as in the code of SemiFL's authors, as their memory.
    max_update_norm_ratio: Largest norm of an update, as a multiple of the norm
      of the received weights, or of 1 if that is larger; infinity for no limit.
    measure_weight_diversity: Whether to measure how much updates differ
      (`weight_diversity.measure`), from sums that no aggregator protects.
    return_given_labels: Whether results have `GivenLabels`.
    context_type: The type of `RoundContext`, if it has guidance.

  Returns:
    A `ClientWorkProcess` without state. With W for model weights, R for
    `RoundContext` and U for chunks of a client's data:

        next: (<<>@SERVER, {<W, R>}@CLIENTS, {U*}@CLIENTS>
               -> <state=<>@SERVER,
                   result={ClientResult}@CLIENTS,
                   measurements=<loss, accuracy, label_ratio, ...,
                                 num_participating, num_rejected,
                                 weight_diversity,
                                 relative_weight_diversity>@SERVER>)

    The dots stand for further measurements of `train_fn`. A mean over nothing
    is NaN: the loss if no image was trained on, the label ratio if no image was
    labeled, the diversity if no kernel changed.
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

  def update_client(
    received: Any, dataset: tf.data.Dataset, optimizer_state: Any
  ):
    data = pipelines.concatenate_chunks(dataset)
    result, sums = train_and_report(*received, data, optimizer_state)
    given_labels = given_labels_lib.drop_padding(result.given_labels)
    return result._replace(given_labels=given_labels), sums

  if keep_optimizer_state:
    initialize_memory = tff.tensorflow.computation(initialize_optimizer)
    memory_type = initialize_memory.type_signature.result
    return client_work_process.build_client_work_process(
      tff.tensorflow.computation(
        update_client, [received_type, data_type, memory_type]
      ),
      client_report.summarize,
      initialize_memory,
    )

  @tff.tensorflow.computation(received_type, data_type)
  def update_client_afresh(received: Any, dataset: tf.data.Dataset):
    result, sums = update_client(received, dataset, initialize_optimizer())
    return result._replace(memory=()), sums

  return client_work_process.build_client_work_process(
    update_client_afresh, client_report.summarize
  )
