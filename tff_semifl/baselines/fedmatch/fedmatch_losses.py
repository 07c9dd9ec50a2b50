# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The terms of the loss of FedMatch's clients.

References:
  Jeong, Yoon, Yang, Hwang. ICLR 2021; phi is called psi there.
"""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.training import losses


class ClientLossWeights(NamedTuple):
  """The weights of the terms of a client's loss, by default the paper's.

  Attributes:
    consistency: Weight of the divergence from helpers, lambda_ICCS.
    agreement: Weight of the cross-entropy with agreed labels.
    l1: Weight of the sum of absolute values of phi.
    l2: Weight of the sum of squared differences of sigma and phi.
  """

  consistency: float = 1e-2
  agreement: float = 1e-2
  l1: float = 1e-5
  l2: float = 10.0


def agreed_labels(logits: tf.Tensor, helper_logits: tf.Tensor) -> tf.Tensor:
  """The class that most models predict, the lowest of a tie, int32 [batch].

  Args:
    logits: float32 [batch, classes], the client's own.
    helper_logits: float32 [helpers, batch, classes], possibly of no helper.
  """
  all_logits = tf.concat([logits[tf.newaxis], helper_logits], axis=0)
  votes = tf.one_hot(tf.argmax(all_logits, axis=-1), logits.shape[-1])
  return tf.argmax(tf.reduce_sum(votes, axis=0), -1, output_type=tf.int32)


def consistency_loss(
  logits: tf.Tensor, helper_logits: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """The mean of KL(helper || client) over helpers and images; 0 without any.

  Args:
    logits: float32 [batch, classes], the client's own.
    helper_logits: float32 [helpers, batch, classes]; constants.
    is_counted: bool [batch].
  """
  divergences = losses.divergence_of_each(helper_logits, logits)
  num_helpers = tf.cast(tf.shape(helper_logits)[0], tf.float32)
  return tf.math.divide_no_nan(
    _mean_of_counted(tf.reduce_sum(divergences, axis=0), is_counted),
    num_helpers,
  )


def agreement_loss(
  strong_logits: tf.Tensor, labels: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """The mean cross-entropy of images with agreed labels; 0 without any.

  Args:
    strong_logits: float32 [batch, classes].
    labels: int32 [batch].
    is_counted: bool [batch].
  """
  return _mean_of_counted(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels, strong_logits),
    is_counted,
  )


def regularization(
  sigma: Sequence[tf.Tensor],
  phi: Sequence[tf.Tensor],
  loss_weights: ClientLossWeights,
) -> tf.Tensor:
  """The terms that keep phi sparse and close to sigma, a scalar."""
  return tf.add_n(
    [
      loss_weights.l1 * tf.reduce_sum(tf.abs(p))
      + loss_weights.l2 * tf.reduce_sum(tf.square(s - p))
      for s, p in zip(sigma, phi, strict=True)
    ]
  )


def _mean_of_counted(values: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
  counted = tf.cast(is_counted, values.dtype)
  return tf.math.divide_no_nan(
    tf.reduce_sum(values * counted), tf.reduce_sum(counted)
  )
