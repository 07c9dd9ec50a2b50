# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Results of local training: a client's update and metrics, and their sums."""

import collections
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators


class UpdateSums(NamedTuple):
  """A client's contribution, to be summed over clients.

  `update` is that of the last layer's kernel, a scalar 0 if nothing is to be
  measured, and `squared_length` its squared length.
  """

  squared_length: tf.Tensor
  update: tf.Tensor


def find_classifier_kernel(
  classifier: functional.ImageClassifier,
) -> int | None:
  """The index of the last layer's kernel among the trainable weights.

  None if the model does not end with a dense layer.
  """
  trainable = classifier.initial_weights.trainable
  for index in reversed(range(len(trainable))):
    shape = trainable[index].shape
    if len(shape) == 2 and shape[1] == classifier.num_classes:
      return index
  return None


def update_sums(
  update: Sequence[tf.Tensor], kernel_index: int | None
) -> UpdateSums:
  """The contribution of one client, of its update, zero if it has none."""
  kernel = tf.zeros([]) if kernel_index is None else update[kernel_index]
  return UpdateSums(tf.reduce_sum(tf.square(kernel)), kernel)


def measure_diversity(
  sums: UpdateSums, num_clients: tf.Tensor
) -> Mapping[str, tf.Tensor]:
  """The weight diversity of equation 7 of Zhang et al., absolute and relative.

  For the updates d_i of the n clients that count:

      weight_diversity          = sum |d_i|^2 / |sum d_i|^2
      relative_weight_diversity = n * weight_diversity

  For equal updates these are 1 / n and 1, the least values; for orthogonal
  updates 1 and n. Both are NaN if no kernel changed.
  """
  diversity = sums.squared_length / tf.reduce_sum(tf.square(sums.update))
  return collections.OrderedDict(
    weight_diversity=diversity,
    relative_weight_diversity=num_clients * diversity,
  )


class Ratio(NamedTuple):
  """A measurement that is a ratio of two sums over clients, float32 scalars."""

  numerator: tf.Tensor
  denominator: tf.Tensor


class LocalTraining(NamedTuple):
  """The outcome of a client's local training.

  Attributes:
    training: The outcome of the training loop.
    num_labeled: The number of pseudo-labels made; 0 for a client with labels.
    num_confident: The number of pseudo-labels that were trained on.
    weight: float32 scalar, at least 0, of the update in the mean; 0 for no
      update.
    measurements: Further measurements by name, to be summed: `Ratio` or float32
      scalars.
    report: What guides receive, by name, to be summed; () for nothing.
    given_labels: The pseudo-labels, or None for a client with labels.
  """

  training: training_loop.TrainingResult
  num_labeled: tf.Tensor
  num_confident: tf.Tensor
  weight: tf.Tensor
  measurements: Mapping[str, Ratio | tf.Tensor] = collections.OrderedDict()
  report: Any = ()
  given_labels: pseudo_labels.GivenLabels | None = None


class ClientResult(NamedTuple):
  """TFF's `ClientResult` with further fields; () for what is absent.

  Attributes:
    update: Received weights minus trained weights.
    update_weight: float32 scalar, at least 0.
    memory: The memory that the client keeps.
    given_labels: The pseudo-labels of the client, if they are returned.
    report: What guides receive, to be summed.
  """

  update: Any
  update_weight: Any
  memory: Any = ()
  given_labels: Any = ()
  report: Any = ()


class ClientSums(NamedTuple):
  """Measurements of a client by name, and sums for the diversity of updates."""

  measurements: Mapping[str, Ratio | tf.Tensor]
  updates: UpdateSums


def measure_confidences(confidences: tf.Tensor) -> Mapping[str, Ratio]:
  """The highest of confidences [images], averaged over clients with images.

  The mean reveals less about one client than the maximum would.
  """
  return collections.OrderedDict(
    highest_confidence=Ratio(
      tf.maximum(tf.reduce_max(confidences), 0.0),
      tf.cast(tf.size(confidences) > 0, tf.float32),
    )
  )


def labeled_in_steps(
  training: training_loop.TrainingResult,
  num_images: tf.Tensor,
  given_labels: pseudo_labels.GivenLabels,
) -> LocalTraining:
  """The outcome for a client that labels during training.

  It has weight 1, whether or not any label was confident, as in the code of
  SemiFL's authors; 0 without images. `training.sums.num_examples` counts the
  images that were trained on.
  """
  return LocalTraining(
    training,
    num_labeled=training.sums.num_visited,
    num_confident=training.sums.num_examples,
    weight=tf.cast(num_images > 0, tf.float32),
    given_labels=given_labels,
  )


def trained_on_true_labels(
  training: training_loop.TrainingResult, num_images: tf.Tensor
) -> LocalTraining:
  """The outcome for a client with labels: weight 1, or 0 without images."""
  return LocalTraining(
    training,
    num_labeled=tf.constant(0),
    num_confident=tf.constant(0),
    weight=tf.cast(num_images > 0, tf.float32),
  )


def report(
  weights: functional.ModelWeights,
  optimizer_state: Any,
  local: LocalTraining,
  *,
  max_update_norm_ratio: float,
  kernel_index: int | None = None,
  return_given_labels: bool = False,
) -> tuple[ClientResult, ClientSums]:
  """The client's result, whose memory is the optimizer state, and its sums.

  Arguments are those of `client_work.build_client_work`; `kernel_index` is from
  `find_classifier_kernel`, or None not to measure the
  diversity of updates. A rejected client has a zero update of weight 0, the
  memory it started with, no given labels, and zeros in all sums but
  `num_rejected`.
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
  # `<=`, as an infinite bound allows all finite lengths.
  is_sound = tf.math.is_finite(length) & (length <= bound)
  is_sound &= local.weight >= 0.0
  is_sound &= aggregators.has_finite_norm(
    (training.sums.loss, local.weight, local.report, local.measurements)
  )
  counts = is_sound & (local.weight > 0.0)
  # Zero times infinity is not zero: choose, do not multiply.
  update = tuple(
    tf.where(counts, array, tf.zeros_like(array)) for array in update
  )
  measurements = collections.OrderedDict(
    loss=Ratio(training.sums.loss, training.sums.num_examples),
    accuracy=Ratio(training.sums.num_correct, training.sums.num_examples),
    label_ratio=Ratio(local.num_confident, local.num_labeled),
    **local.measurements,
    num_participating=tf.cast(counts, tf.float32),
  )

  def if_sound(value: tf.Tensor) -> tf.Tensor:
    return tf.where(is_sound, tf.cast(value, tf.float32), 0.0)

  sums = ClientSums(
    collections.OrderedDict(
      **tf.nest.map_structure(if_sound, measurements),
      num_rejected=1.0 - if_sound(1.0),
    ),
    update_sums(update, kernel_index),
  )
  given_labels = ()
  if return_given_labels:
    assert local.given_labels is not None
    given_labels = local.given_labels.keep_if(is_sound)
  result = ClientResult(
    update,
    update_weight=tf.where(counts, local.weight, 0.0),
    # The state is unchanged if the client did not train.
    memory=tf.nest.map_structure(
      lambda new, old: tf.where(is_sound, new, old),
      training.optimizer_state,
      optimizer_state,
    ),
    given_labels=given_labels,
    report=tf.nest.map_structure(
      lambda array: tf.where(is_sound, array, tf.zeros_like(array)),
      local.report,
    ),
  )
  return result, sums


def summarize(sums: ClientSums) -> Mapping[str, tf.Tensor]:
  """The metrics of a round, float32 scalars by name.

  Ratios of sums (NaN for 0 / 0), and the results of `measure_diversity`.
  """
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
    **measure_diversity(sums.updates, metrics['num_participating']),
  )
