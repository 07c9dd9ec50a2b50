# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Losses: cross-entropy, mixup, consistency and Kullback-Leibler divergence.

All are means over the examples of a batch.
"""

import tensorflow as tf


def cross_entropy(
  logits: tf.Tensor,
  labels: tf.Tensor,
  weights: tf.Tensor | None = None,
  *,
  offset: tf.Tensor | None = None,
) -> tf.Tensor:
  """Mean cross-entropy with hard or soft labels, a scalar.

  `logits` are float [batch, classes]; `labels` are int [batch] in 0..classes-1,
  or probabilities, float [batch, classes]. `weights`, float [batch], at least
  0, multiply the losses of examples before the mean over all. `offset`,
  float [classes] or [batch, classes], is added to the logits (logit adjustment:
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021).
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
  """Cross-entropy of the counted examples, divided by the size of the batch.

  As in FixMatch and in equations 3 and 4 of Zhang et al. `is_counted` is bool
  [batch].
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
  """Cross-entropy of mixed images, with the labels mixed alike (mixup).

  Args:
    logits: float [batch, classes], for `coefficient * first_images + (1 -
      coefficient) * second_images`.
    first_labels: As in `cross_entropy`.
    second_labels: As in `cross_entropy`.
    coefficient: Scalar in [0, 1]; 1 is cross-entropy with `first_labels`.
    weights: As in `cross_entropy`.
    offset: As in `cross_entropy`.

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

  The consistency loss of the Pi-Model, Mean Teacher and MixMatch. Arguments are
  float [batch, classes]; targets usually have no gradient.
  """
  return tf.reduce_mean(tf.math.squared_difference(targets, probabilities))


def divergence_of_each(
  target_logits: tf.Tensor, logits: tf.Tensor
) -> tf.Tensor:
  """KL(target || prediction) of each example, float [..., batch].

  Both logits are float [..., batch, classes]; `target_logits` get no gradient.
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
  """Mean of KL(target || prediction), the consistency loss of UDA and (FL)^2.

  `weights` are as in `cross_entropy`.
  """
  each = divergence_of_each(target_logits, logits)
  if weights is not None:
    each *= tf.cast(weights, each.dtype)
  return tf.reduce_mean(each)
