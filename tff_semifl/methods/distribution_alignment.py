# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Distribution alignment: predictions as frequent as wanted (F.8, I.5).

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.
"""

import tensorflow as tf

# Of FixMatch's code: a class that is never predicted is not raised without
# bound.
_EPSILON = 1e-6


def align(
  logits: tf.Tensor,
  predicted: tf.Tensor,
  wanted: tf.Tensor | None = None,
  *,
  strength: float = 1.0,
) -> tf.Tensor:
  """Returns logits of probabilities times `(wanted / predicted) ** strength`.

  If the model predicts the wanted shares, they are not changed.

  Args:
    logits: float32 [batch, classes].
    predicted: float32 [classes], the mean of the model's predictions.
    wanted: float32 [classes], the share of each class among all images; by
      default all are equal.
    strength: 0 for nothing.

  Returns:
    float32 [batch, classes].
  """
  excess = tf.math.log(predicted + _EPSILON)
  if wanted is not None:
    excess -= tf.math.log(wanted + _EPSILON)
  return logits - strength * excess


def initialize_recent(num_classes: int, num_batches: int) -> tf.Tensor:
  """Returns the memory of `predicted` before any batch: all classes alike.

  Args:
    num_classes: Number of classes.
    num_batches: Batches that are remembered; 128 in ReMixMatch.

  Returns:
    float32 [num_batches, num_classes].
  """
  return tf.fill([num_batches, num_classes], 1.0 / num_classes)


def remember(recent: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
  """Returns the memory with the mean of a batch in place of the oldest one.

  Args:
    recent: float32 [batches, classes], oldest first; its mean over batches is
      `predicted`.
    probabilities: float32 [batch, classes], the model's.
  """
  newest = tf.reduce_mean(probabilities, axis=0, keepdims=True)
  return tf.concat([recent[1:], newest], axis=0)
