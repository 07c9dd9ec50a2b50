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


class Ratio(NamedTuple):
  """A measurement that is a ratio of two sums over clients, float32 scalars."""

  numerator: tf.Tensor
  denominator: tf.Tensor


class LocalTraining(NamedTuple):
  """What a client did with its images.

  Attributes:
    training: The outcome of its training.
    num_labelled: Images that it gave a pseudo-label, each time they got one;
      0 for a client that has labels.
    num_confident: Those of them whose pseudo-label was trained on.
    weight: float32 scalar, at least 0, of its update in the mean. 0 if it has
      no update to report.
    measurements: What else it measures, by name: a `Ratio`, or a float32 scalar
      to be added up.
    report: What it says to `Guidance.update`: any structure of tensors, to be
      added up.
  """

  training: training_loop.TrainingResult
  num_labelled: tf.Tensor
  num_confident: tf.Tensor
  weight: tf.Tensor
  measurements: Mapping[str, Ratio | tf.Tensor] = collections.OrderedDict()
  report: Any = ()


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

  Attributes:
    measurements: By name a `Ratio`, or a float32 scalar.
    updates: What the diversity of updates is measured by.
  """

  measurements: Mapping[str, Ratio | tf.Tensor]
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
  context_type: tff.Type = round_context.ROUND_CONTEXT_TYPE,
) -> client_work_process.ClientWorkProcess:
  """Builds client work of which each client's turn is `train_fn`.

  With S for the empty state, W for model weights, R for `RoundContext`, U for
  chunks of `pipelines.client_type`:

      next: (<S@SERVER, {<W, R>}@CLIENTS, {U*}@CLIENTS>
             -> <state=S@SERVER,
                 result={ClientResult}@CLIENTS,
                 measurements=<loss, accuracy, label_ratio, ...,
                               num_participating, num_rejected,
                               weight_diversity,
                               relative_weight_diversity>@SERVER>)

  Where the dots are, there is what `train_fn` measures besides. A measurement
  of nothing is not a number: the loss if no image was trained on, the label
  ratio if no image was labeled, the diversity if no kernel changed.

  The update is the received weights minus the trained ones. Its weight is that
  of `train_fn`, 0 for a client that has none to report (A.11, A.12). It is also
  0 for one whose update is rejected: it, its weight or its loss is not finite,
  or it is too long. Such an update is zero, and what a rejected client saw is
  in no sum.

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
    context_type: The type of `RoundContext`, if there is guidance in it.
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
  is_sound &= tf.math.is_finite(local.weight) & (local.weight >= 0.0)
  counts = is_sound & (local.weight > 0.0)
  # Zero times infinity is not zero: choose, do not multiply.
  update = tuple(
    tf.where(counts, array, tf.zeros_like(array)) for array in update
  )
  weight = tf.where(counts, local.weight, 0.0)

  def if_sound(value: tf.Tensor) -> tf.Tensor:
    return tf.where(is_sound, tf.cast(value, tf.float32), 0.0)

  seen = training.sums
  measurements = collections.OrderedDict(
    loss=Ratio(seen.loss, seen.num_examples),
    accuracy=Ratio(seen.num_correct, seen.num_examples),
    label_ratio=Ratio(local.num_confident, local.num_labelled),
    **local.measurements,
    num_participating=tf.cast(counts, tf.float32),
  )
  sums = ClientSums(
    collections.OrderedDict(
      **tf.nest.map_structure(if_sound, measurements),
      num_rejected=1.0 - if_sound(1.0),
    ),
    weight_diversity.update_sums(update, kernel_index),
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
    client_work_process.ClientResult(
      update,
      weight,
      memory,
      given_labels,
      tf.nest.map_structure(
        lambda array: tf.where(is_sound, array, tf.zeros_like(array)),
        local.report,
      ),
    ),
    sums,
  )


def summarize(sums: ClientSums) -> Mapping[str, tf.Tensor]:
  """Returns the metrics of a round, in a computation.

  Args:
    sums: Of all clients.
  """
  # 0 / 0 is not a number: nothing was measured.
  metrics = collections.OrderedDict(
    (
      name,
      value.numerator / value.denominator
      if isinstance(value, Ratio)
      else value,
    )
    for name, value in sums.measurements.items()
  )
  return collections.OrderedDict(
    **metrics,
    **weight_diversity.measure(sums.updates, metrics['num_participating']),
  )
