# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What all client work has in common: the turn of a client, and its place.

How a client makes use of its images is a function from what it received to
what it trained; here it becomes a process that reports updates, leaves out
clients that have none worth having, and sums up what they saw.
"""

import collections
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import client_work_process
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop
from tff_semifl.work import weight_diversity


class LocalTraining(NamedTuple):
  """What a client did with its images.

  Attributes:
    training: The outcome of its training.
    num_labelled: Images that it gave a pseudo-label, each time they got one;
      0 for a client that has labels.
    num_confident: Those of them whose pseudo-label was trained on.
    participates: bool scalar, whether it has an update to report.
  """

  training: training_loop.TrainingResult
  num_labelled: tf.Tensor
  num_confident: tf.Tensor
  participates: tf.Tensor


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
  LocalTraining,
]


class ClientSums(NamedTuple):
  """What clients report, in a form that can be added up.

  All are float32 scalars, but for `updates`.

  Attributes:
    loss: Sum of losses of all training examples.
    num_correct: Training examples whose strong view the model that was being
      trained gave its pseudo-label.
    num_examples: Training examples, each counted once an epoch.
    num_labelled: As in `LocalTraining`.
    num_confident: As in `LocalTraining`.
    num_participating: 1 if the client's update counts, else 0.
    num_rejected: 1 if the client had an update that cannot be right, else 0.
    updates: What their diversity is measured by.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor
  num_labelled: tf.Tensor
  num_confident: tf.Tensor
  num_participating: tf.Tensor
  num_rejected: tf.Tensor
  updates: weight_diversity.UpdateSums


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
) -> client_work_process.ClientWorkProcess:
  """Builds client work of which each client's turn is `train_fn`.

  With S for the empty state, W for model weights, R for `RoundContext`, U for
  chunks of `pipelines.client_type`:

      next: (<S@SERVER, {<W, R>}@CLIENTS, {U*}@CLIENTS>
             -> <state=S@SERVER,
                 result={ClientResult}@CLIENTS,
                 measurements=<loss, accuracy, label_ratio,
                               num_participating, num_rejected,
                               weight_diversity,
                               relative_weight_diversity>@SERVER>)

  A measurement of nothing is not a number: the loss if no image was trained on,
  the label ratio if no image was labeled, the diversity if no kernel changed.

  The update is the received weights minus the trained ones. Its weight is 1,
  or 0 for a client that has none to report (A.11, A.12) or whose update is
  rejected: it or its loss is not finite, or it is too long. Such an update is
  zero, and what a rejected client saw is in no sum.

  Args:
    classifier: The model.
    train_fn: Trains on a client's images.
    data_type: What a client has. By default `pipelines.client_type`.
    optimizer: The learning rate is set to the round's.
    keep_optimizer_state: Whether a client goes on with the optimizer state of
      its last turn, as in the authors' code, instead of starting afresh (D5).
      This state is its memory then.
    max_update_norm_ratio: As in `Hyperparameters`.
    measure_weight_diversity: Whether to measure how the updates differ (see
      `weight_diversity.measure`), by sums of them that no aggregator protects.
    return_given_labels: Whether results have `GivenLabels`.
  """
  kernel_index = None
  if measure_weight_diversity:
    kernel_index = weight_diversity.find_classifier_kernel(classifier)
  updates_type = weight_diversity.update_sums_type(classifier, kernel_index)
  received_type = tff.types.to_type(
    (classifier.weights_type, round_context.ROUND_CONTEXT_TYPE)
  )
  data_type = data_type or pipelines.client_type(classifier.image_shape)

  def initialize_optimizer() -> Any:
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  def take_turn(received: Any, dataset: tf.data.Dataset, optimizer_state: Any):
    weights, context = received
    local = train_fn(
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizer.set_hparams(
        optimizer_state,
        {optimizers.LEARNING_RATE_KEY: context.learning_rate},
      ),
      given_labels_lib.none()
      if return_given_labels
      else given_labels_lib.NOT_KEPT,
    )
    return report(
      weights,
      optimizer_state,
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
    )

  summarize = build_summary(updates_type)
  if keep_optimizer_state:
    initialize_memory = tff.tensorflow.computation(initialize_optimizer)
    memory_type = initialize_memory.type_signature.result
    return client_work_process.build_client_work_process(
      tff.tensorflow.computation(
        take_turn, [received_type, data_type, memory_type]
      ),
      summarize,
      initialize_memory,
    )

  @tff.tensorflow.computation(received_type, data_type)
  def take_turn_afresh(received: Any, dataset: tf.data.Dataset):
    result, sums = take_turn(received, dataset, initialize_optimizer())
    return result._replace(memory=()), sums

  return client_work_process.build_client_work_process(
    take_turn_afresh, summarize
  )


def report(
  weights: functional.ModelWeights,
  optimizer_state: Any,
  local: LocalTraining,
  *,
  max_update_norm_ratio: float,
  kernel_index: int | None,
) -> tuple[client_work_process.ClientResult, ClientSums]:
  """Returns what a client hands in, with its optimizer's state as its memory.

  Args:
    weights: What it received.
    optimizer_state: What it came with.
    local: What it did.
    max_update_norm_ratio: As in `Hyperparameters`.
    kernel_index: From `weight_diversity.find_classifier_kernel`, or None not to
      measure the diversity of updates.
  """
  training = local.training
  update = [
    received - trained
    for received, trained in zip(
      weights.trainable, training.trainable, strict=True
    )
  ]
  length = tf.linalg.global_norm(update)
  bound = max_update_norm_ratio * tf.maximum(
    tf.linalg.global_norm(weights.trainable), 1.0
  )
  # The bound may be infinite, and infinity is no more than that.
  is_sound = tf.math.is_finite(length) & (length <= bound)
  is_sound &= tf.math.is_finite(training.sums.loss)
  counts = tf.logical_and(is_sound, local.participates)
  # Zero times infinity is not zero: choose, do not multiply.
  update = tuple(
    tf.where(counts, array, tf.zeros_like(array)) for array in update
  )
  weight = tf.cast(counts, tf.float32)

  def if_sound(value: tf.Tensor) -> tf.Tensor:
    return tf.where(is_sound, tf.cast(value, tf.float32), 0.0)

  sums = ClientSums(
    loss=if_sound(training.sums.loss),
    num_correct=if_sound(training.sums.num_correct),
    num_examples=if_sound(training.sums.num_examples),
    num_labelled=if_sound(local.num_labelled),
    num_confident=if_sound(local.num_confident),
    num_participating=weight,
    num_rejected=1.0 - if_sound(1.0),
    updates=weight_diversity.update_sums(update, kernel_index),
  )
  # A client that did not train has the state that it came with (A.11).
  memory = tf.nest.map_structure(
    lambda new, old: tf.where(is_sound, new, old),
    training.optimizer_state,
    optimizer_state,
  )
  given_labels = tf.nest.map_structure(
    lambda array: array[: tf.where(is_sound, tf.shape(array)[0], 0)],
    training.given_labels,
  )
  return (
    client_work_process.ClientResult(update, weight, memory, given_labels),
    sums,
  )


def build_summary(updates_type: tff.Type) -> tff.Computation:
  """Builds the metrics of a round, (ClientSums of all clients -> metrics).

  Args:
    updates_type: From `weight_diversity.update_sums_type`.
  """
  num_scalars = len(ClientSums._fields) - 1

  @tff.tensorflow.computation(
    ClientSums(*[np.float32] * num_scalars, updates=updates_type)
  )
  def summarize(sums: ClientSums):
    # 0 / 0 is not a number: nothing was measured.
    return collections.OrderedDict(
      loss=sums.loss / sums.num_examples,
      accuracy=sums.num_correct / sums.num_examples,
      label_ratio=sums.num_confident / sums.num_labelled,
      num_participating=sums.num_participating,
      num_rejected=sums.num_rejected,
      **weight_diversity.measure(sums.updates, sums.num_participating),
    )

  return summarize
