# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Distribution alignment: scales predictions to the wanted class shares.

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.
"""

import tensorflow as tf

# From FixMatch's code: bounds the factor of a class that is never predicted.
_EPSILON = 1e-6


def align(
  logits: tf.Tensor,
  predicted: tf.Tensor,
  wanted: tf.Tensor | None = None,
  *,
  strength: float = 1.0,
) -> tf.Tensor:
  """Logits of the probabilities times `(wanted / predicted) ** strength`.

  `predicted` is the mean of the model's predictions, float32 [classes].
  `wanted` are class shares, by default equal.
  """
  excess = tf.math.log(predicted + _EPSILON)
  if wanted is not None:
    excess -= tf.math.log(wanted + _EPSILON)
  return logits - strength * excess


def initialize_recent(num_classes: int, num_batches: int) -> tf.Tensor:
  """Equal class shares, float32 [num_batches, num_classes], for `remember`."""
  return tf.fill([num_batches, num_classes], 1.0 / num_classes)


def remember(recent: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
  """Drops the oldest row, the first, and appends the mean of a batch."""
  newest = tf.reduce_mean(probabilities, axis=0, keepdims=True)
  return tf.concat([recent[1:], newest], axis=0)
