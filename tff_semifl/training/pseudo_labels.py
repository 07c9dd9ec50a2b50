# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels: predictions of a model for unlabeled images.

SemiFL (NeurIPS 2022), section 3.3: a client labels all its images once, when it
receives the model (equation 2), and trains on those labels until it returns.
"""

from typing import Any, NamedTuple

import tensorflow as tf


class PseudoLabels(NamedTuple):
  """One guess for each image.

  Attributes:
    labels: int32 [num_images], the most probable class (hard labels, D12).
    confidences: float32 [num_images] in [0, 1], its probability.
    probabilities: float32 [num_images, classes], of all classes (soft labels).
    prior: float32 [classes], the shares of classes among the images, where
      labeling estimates them (`client_prior`); else ().
    unaligned: float32 [num_images, classes], the model's own probabilities,
      where labels are aligned (I.5); else ().
    offset: float32 [classes] or [num_images, classes], what is added to logits
      in the losses; () for nothing.
  """

  labels: tf.Tensor
  confidences: tf.Tensor
  probabilities: tf.Tensor
  prior: tf.Tensor | tuple[()] = ()
  unaligned: tf.Tensor | tuple[()] = ()
  offset: tf.Tensor | tuple[()] = ()

  def as_rows(self) -> 'PseudoLabels':
    """Returns labels all of whose tensors have a row for each image."""
    offset = self.offset
    if isinstance(offset, tf.Tensor):
      offset = tf.broadcast_to(offset, tf.shape(self.probabilities))
    return PseudoLabels(
      self.labels, self.confidences, self.probabilities, offset=offset
    )


def complete(labels: Any, num_classes: int) -> PseudoLabels:
  """Returns labels of any kind as `PseudoLabels`.

  Args:
    labels: `PseudoLabels`; integers [num_images]; or probabilities, float32
      [num_images, classes].
    num_classes: The number of classes.
  """
  if isinstance(labels, PseudoLabels):
    return labels
  if labels.dtype.is_floating:
    return PseudoLabels(
      labels=tf.argmax(labels, axis=-1, output_type=tf.int32),
      confidences=tf.reduce_max(labels, axis=-1),
      probabilities=labels,
    )
  return PseudoLabels(
    labels=tf.cast(labels, tf.int32),
    confidences=tf.ones_like(labels, tf.float32),
    probabilities=tf.one_hot(labels, num_classes),
  )


def mean_over_images(values: tf.Tensor) -> tf.Tensor:
  """Returns the mean over images, float32 [...]; 0 without any.

  Args:
    values: float32 [num_images, ...].
  """
  return tf.math.divide_no_nan(
    tf.reduce_sum(values, axis=0), tf.cast(tf.shape(values)[0], tf.float32)
  )


def from_logits(logits: tf.Tensor) -> PseudoLabels:
  """Returns the most probable class of each row and its probability.

  Args:
    logits: float [num_images, classes], from the model in inference mode.
  """
  probabilities = tf.nn.softmax(tf.cast(logits, tf.float32))
  return PseudoLabels(
    labels=tf.argmax(probabilities, axis=-1, output_type=tf.int32),
    confidences=tf.reduce_max(probabilities, axis=-1),
    probabilities=probabilities,
  )


def sharpen(probabilities: tf.Tensor, temperature: float) -> tf.Tensor:
  """Returns probabilities to the power of 1 / temperature, normalized.

  A temperature of 1 leaves them as they are; the lower it is, the nearer the
  most probable class comes to 1 (MixMatch, F.7).

  Args:
    probabilities: float32 [num_images, classes].
    temperature: Above 0.

  Returns:
    float32 [num_images, classes], rows of which add up to 1.
  """
  # As the softmax of logarithms, so that powers of small numbers are not 0.
  return tf.nn.softmax(tf.math.log(probabilities) / temperature)


def split_selection(
  selected: tf.Tensor,
) -> tuple[tf.Tensor, tuple[tf.Tensor, ...]]:
  """Returns which images are selected, and their weights, if they have any.

  Args:
    selected: bool [num_images], which images are trained on; or float32
      [num_images], at least 0, what each weighs in the loss.

  Returns:
    bool [num_images], and () or (float32 [num_images],).
  """
  if selected.dtype == tf.bool:
    return selected, ()
  return selected > 0, (selected,)


def is_confident(
  labels: PseudoLabels, threshold: float | tf.Tensor
) -> tf.Tensor:
  """Returns bool [num_images]: confidence at or above `threshold` (A.6).

  The comparison is inclusive: an image at exactly the threshold counts.

  Args:
    labels: The pseudo-labels.
    threshold: A probability in (0, 1], 0.95 in the paper; or float32
      [num_images], one for each image.
  """
  return labels.confidences >= threshold
