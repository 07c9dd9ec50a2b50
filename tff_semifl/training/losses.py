# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Losses of SemiFL (NeurIPS 2022, section 3.4), Zhang et al. (E.2) and F.

All of them are means over the examples of one batch, of whatever size it is.
"""

import tensorflow as tf


def cross_entropy(
  logits: tf.Tensor,
  labels: tf.Tensor,
  weights: tf.Tensor | None = None,
  *,
  offset: tf.Tensor | None = None,
) -> tf.Tensor:
  """Mean cross-entropy with hard or soft labels.

  Args:
    logits: float [batch, classes], unnormalized.
    labels: int [batch], in 0..classes-1, or float [batch, classes], the
      probability of each class (D12).
    weights: float [batch], at least zero, what the loss of each example is
      multiplied by before the mean over all; by default 1.
    offset: float [classes], is added to the logits of each example, as in logit
      adjustment; by default 0.

  Returns:
    A scalar of the dtype of `logits`, at least zero.

  References:
    Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
    adjustment. ICLR 2021.
  """
  if offset is not None:
    logits += tf.cast(offset, logits.dtype)
  if tf.as_dtype(labels.dtype).is_floating:
    each = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
  else:
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits
    )
  if weights is not None:
    each *= tf.cast(weights, each.dtype)
  return tf.reduce_mean(each)


def masked_cross_entropy(
  logits: tf.Tensor, labels: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """Cross-entropy of some examples, divided by the number of all.

  As FixMatch and Zhang et al. have it (equations 3 and 4): the fewer count,
  the less they all weigh.

  Args:
    logits: float [batch, classes], unnormalized.
    labels: int [batch], in 0..classes-1.
    is_counted: bool [batch].

  Returns:
    A scalar of the dtype of `logits`, at least zero.
  """
  return cross_entropy(logits, labels, is_counted)


def mix_loss(
  logits: tf.Tensor,
  first_labels: tf.Tensor,
  second_labels: tf.Tensor,
  coefficient: tf.Tensor,
  weights: tf.Tensor | None = None,
  *,
  offset: tf.Tensor | None = None,
) -> tf.Tensor:
  """Loss of predictions for images that were mixed from two batches.

  With a coefficient of 1 it is the cross-entropy with `first_labels` alone.

  Args:
    logits: float [batch, classes], for `coefficient * first_images + (1 -
      coefficient) * second_images`.
    first_labels: As in `cross_entropy`.
    second_labels: Likewise.
    coefficient: Scalar in [0, 1], the same as mixed the images.
    weights: As in `cross_entropy`.
    offset: Likewise.

  Returns:
    A scalar of the dtype of `logits`.

  References:
    Zhang, Cisse, Dauphin, Lopez-Paz. mixup: Beyond Empirical Risk
    Minimization. ICLR 2018.
  """
  first, second = (
    cross_entropy(logits, labels, weights, offset=offset)
    for labels in (first_labels, second_labels)
  )
  return coefficient * first + (1.0 - coefficient) * second


def consistency(targets: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
  """Mean squared difference of probabilities, over examples and classes.

  As the Pi-Model, Mean Teacher and MixMatch have it (F.3, F.4, F.7).

  Args:
    targets: float [batch, classes], probabilities, as a rule without a
      gradient.
    probabilities: float [batch, classes].

  Returns:
    A scalar of the dtype of `probabilities`, at least zero.
  """
  return tf.reduce_mean(tf.math.squared_difference(targets, probabilities))


def divergence_of_each(
  target_logits: tf.Tensor, logits: tf.Tensor
) -> tf.Tensor:
  """KL(target || prediction) of each example.

  Args:
    target_logits: float [..., batch, classes], unnormalized; they are
      constants.
    logits: float [batch, classes], unnormalized, of the predictions.

  Returns:
    float [..., batch], at least zero but for rounding.
  """
  target_logits = tf.stop_gradient(target_logits)
  return tf.reduce_sum(
    tf.nn.softmax(target_logits)
    * (tf.nn.log_softmax(target_logits) - tf.nn.log_softmax(logits)),
    axis=-1,
  )


def divergence(
  target_logits: tf.Tensor,
  logits: tf.Tensor,
  weights: tf.Tensor | None = None,
) -> tf.Tensor:
  """Mean of KL(target || prediction), as UDA and (FL)^2 have it (F.6, G.3).

  Args:
    target_logits: float [batch, classes], unnormalized; they are constants.
    logits: float [batch, classes], unnormalized, of the predictions.
    weights: As in `cross_entropy`.

  Returns:
    A scalar of the dtype of `logits`, at least zero.
  """
  each = divergence_of_each(target_logits, logits)
  if weights is not None:
    each *= tf.cast(weights, each.dtype)
  return tf.reduce_mean(each)
