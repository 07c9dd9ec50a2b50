# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mixup as SemiFL uses it: one coefficient a batch (A.8)."""

import tensorflow as tf


def sample_coefficient(seed: tf.Tensor, *, concentration: float) -> tf.Tensor:
  """Draws one coefficient from Beta(concentration, concentration).

  It is not folded to max(x, 1 - x): SemiFL mixes symmetrically (A.8).

  Args:
    seed: int32 [2], a stateless seed.
    concentration: Positive; 0.75 in the paper.

  Returns:
    A float32 scalar in [0, 1].
  """
  gamma = tf.random.stateless_gamma([2], seed, alpha=concentration)
  return gamma[0] / (gamma[0] + gamma[1])


def mix(
  first: tf.Tensor, second: tf.Tensor, coefficient: tf.Tensor
) -> tf.Tensor:
  """Returns `coefficient * first + (1 - coefficient) * second`.

  A coefficient of 1 returns `first`.

  Args:
    first: float [batch, height, width, channels].
    second: float, the same shape.
    coefficient: Scalar in [0, 1].
  """
  return coefficient * first + (1.0 - coefficient) * second
