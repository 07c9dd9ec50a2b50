# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Losses: cross-entropy and Kullback-Leibler divergence."""

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
  or probabilities, float [batch, classes]. `weights`, float or bool [batch], at
  least 0, multiply the losses of examples before the mean over the batch, as in
  FixMatch and in equations 3 and 4 of Zhang et al. `offset`, float [classes] or
  [batch, classes], is added to the logits (Menon, Jayasumana, Rawat, Jain,
  Veit, Kumar. Long-tail learning via logit adjustment. ICLR 2021).
  """
  if offset is not None:
    logits += tf.cast(offset, logits.dtype)
  if tf.as_dtype(labels.dtype).is_floating:
    each = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
  else:
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits
    )
  return _weighted_mean(each, weights)


def divergence_of_each(
  target_logits: tf.Tensor, logits: tf.Tensor
) -> tf.Tensor:
  """KL(target || prediction) of each example, float [..., batch].

  Logits are float [..., batch, classes]. `target_logits` get no gradient.
  """
  target_logits = tf.stop_gradient(target_logits)
  return tf.reduce_sum(
    tf.nn.softmax(target_logits)
    * (tf.nn.log_softmax(target_logits) - tf.nn.log_softmax(logits)),
    axis=-1,
  )


def divergence(
  target_logits: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor | None = None
) -> tf.Tensor:
  """Mean of KL(target || prediction), the consistency loss of UDA and (FL)^2.

  `weights` are as in `cross_entropy`.
  """
  return _weighted_mean(divergence_of_each(target_logits, logits), weights)


def _weighted_mean(each: tf.Tensor, weights: tf.Tensor | None) -> tf.Tensor:
  if weights is not None:
    each *= tf.cast(weights, each.dtype)
  return tf.reduce_mean(each)
