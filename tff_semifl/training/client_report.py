# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's report of its training, and the metrics of all reports.

A client reports an update, unless it has none or the update must be rejected,
and measurements that are added up over clients.
"""

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.training import client_work_process
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity


class Ratio(NamedTuple):
  """A measurement that is a ratio of two sums over clients, float32 scalars."""

  numerator: tf.Tensor
  denominator: tf.Tensor


class LocalTraining(NamedTuple):
  """The outcome of a client's turn.

  Attributes:
    training: The outcome of its training.
    num_labeled: Images that it gave a pseudo-label, each time they got one;
      0 for a client that has labels.
    num_confident: Those of them whose pseudo-label was trained on.
    weight: float32 scalar, at least 0, of its update in the mean. 0 if it has
      no update to report.
    measurements: Further measurements by name: each a `Ratio`, or a float32
      scalar to be added up.
    report: The client's message to `Guidance.update`: any structure of tensors,
      to be added up.
  """

  training: training_loop.TrainingResult
  num_labeled: tf.Tensor
  num_confident: tf.Tensor
  weight: tf.Tensor
  measurements: Mapping[str, Ratio | tf.Tensor] = collections.OrderedDict()
  report: Any = ()


class ClientSums(NamedTuple):
  """Measurements that clients report, in a form that can be added up.

  Attributes:
    measurements: By name a `Ratio`, or a float32 scalar.
    updates: Sums from which the diversity of updates is measured.
  """

  measurements: Mapping[str, Ratio | tf.Tensor]
  updates: weight_diversity.UpdateSums


def measure_confidences(confidences: tf.Tensor) -> Mapping[str, Ratio]:
  """Returns the highest confidence, for its mean over clients with images.

  That mean tells less of one client than the maximum over clients would.

  Args:
    confidences: float32 [images], of all images.
  """
  return collections.OrderedDict(
    highest_confidence=Ratio(
      tf.maximum(tf.reduce_max(confidences), 0.0),
      tf.cast(tf.size(confidences) > 0, tf.float32),
    )
  )


def labeled_in_steps(
  training: training_loop.TrainingResult, num_images: tf.Tensor
) -> LocalTraining:
  """Returns the turn of a client that gave pseudo-labels in each step.

  A client that has images takes part in the mean, whether or not it was ever
  sure of one (D36).

  Args:
    training: Its training, in which the examples that count are those whose
      pseudo-label was trained on.
    num_images: int32 scalar, the number of its images.

  Returns:
    Its turn, with weight 1, or 0 without images.
  """
  return LocalTraining(
    training,
    num_labeled=training.sums.num_visited,
    num_confident=training.sums.num_examples,
    weight=tf.cast(num_images > 0, tf.float32),
  )


def trained_on_true_labels(
  training: training_loop.TrainingResult, num_images: tf.Tensor
) -> LocalTraining:
  """Returns the turn of a client that has labels, and gave no pseudo-label.

  Args:
    training: Its training.
    num_images: int32 scalar, the number of its images.

  Returns:
    Its turn, with weight 1, or 0 without images.
  """
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
  kernel_index: int | None,
) -> tuple[client_work_process.ClientResult, ClientSums]:
  """Returns the result of a client, with its optimizer's state as its memory.

  Args:
    weights: The weights that it received.
    optimizer_state: The state with which it came.
    local: The outcome of its turn.
    max_update_norm_ratio: Largest length of an update, as a multiple of that of
      the received weights, or of 1 if that is larger; infinity for no limit.
    kernel_index: From `weight_diversity.find_classifier_kernel`, or None not to
      measure the diversity of updates.

  Returns:
    The result and the measurements. A rejected client has a zero update of
    weight 0, the memory with which it came, no given labels but padding, and
    zeros in all sums but `num_rejected`.
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
  # The bound may be infinite, and infinity is not greater than that.
  is_sound = tf.math.is_finite(length) & (length <= bound)
  is_sound &= tf.math.is_finite(training.sums.loss)
  is_sound &= tf.math.is_finite(local.weight) & (local.weight >= 0.0)
  for value in tf.nest.flatten((local.report, local.measurements)):
    array = tf.convert_to_tensor(value)
    if array.dtype.is_floating:
      is_sound &= tf.reduce_all(tf.math.is_finite(array))
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
    weight_diversity.update_sums(update, kernel_index),
  )
  result = client_work_process.ClientResult(
    update,
    update_weight=tf.where(counts, local.weight, 0.0),
    # A client that did not train has the state that it came with (A.11).
    memory=tf.nest.map_structure(
      lambda new, old: tf.where(is_sound, new, old),
      training.optimizer_state,
      optimizer_state,
    ),
    given_labels=given_labels_lib.reject(training.given_labels, ~is_sound),
    report=tf.nest.map_structure(
      lambda array: tf.where(is_sound, array, tf.zeros_like(array)),
      local.report,
    ),
  )
  return result, sums


def summarize(sums: ClientSums) -> Mapping[str, tf.Tensor]:
  """Returns the metrics of a round, in a computation.

  Args:
    sums: Those of all clients, added up.

  Returns:
    A float32 scalar for each measurement, and those of
    `weight_diversity.measure`. A ratio of nothing to nothing is not a number.
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
    **weight_diversity.measure(sums.updates, metrics['num_participating']),
  )
