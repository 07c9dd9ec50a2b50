# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Losses of SemiFL (NeurIPS 2022, section 3.4) and of the benchmark (E.2).

All of them are means over the examples of one batch, of whatever size it is.
"""

import tensorflow as tf


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
  """Mean cross-entropy with hard or soft labels.

  Args:
    logits: float [batch, classes], unnormalised.
    labels: int [batch], in 0..classes-1, or float [batch, classes], the
      probability of each class (D12).

  Returns:
    A scalar of the dtype of `logits`, at least zero.
  """
  if tf.as_dtype(labels.dtype).is_floating:
    return tf.reduce_mean(
      tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
  return tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
  )


def masked_cross_entropy(
  logits: tf.Tensor, labels: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """Cross-entropy of some examples, divided by the number of all.

  As FixMatch and the benchmark have it (equations 3 and 4): the fewer count,
  the less they all weigh.

  Args:
    logits: float [batch, classes], unnormalised.
    labels: int [batch], in 0..classes-1.
    is_counted: bool [batch].

  Returns:
    A scalar of the dtype of `logits`, at least zero.
  """
  each = tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=labels, logits=logits
  )
  return tf.reduce_mean(each * tf.cast(is_counted, each.dtype))


def mix_loss(
  logits: tf.Tensor,
  first_labels: tf.Tensor,
  second_labels: tf.Tensor,
  coefficient: tf.Tensor,
) -> tf.Tensor:
  """Loss of predictions for images that were mixed from two batches.

  With a coefficient of 1 it is the cross-entropy with `first_labels` alone.

  Args:
    logits: float [batch, classes], for `coefficient * first_images + (1 -
      coefficient) * second_images`.
    first_labels: As in `cross_entropy`.
    second_labels: Likewise.
    coefficient: Scalar in [0, 1], the same as mixed the images.

  Returns:
    A scalar of the dtype of `logits`.

  References:
    Zhang, Cisse, Dauphin, Lopez-Paz. mixup: Beyond Empirical Risk
    Minimization. ICLR 2018.
  """
  return coefficient * cross_entropy(logits, first_labels) + (
    1.0 - coefficient
  ) * cross_entropy(logits, second_labels)
