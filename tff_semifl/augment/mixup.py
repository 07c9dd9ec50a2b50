# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mixup: a coefficient for a batch (A.8), or for each image (MixMatch, F.7).

References:
  Zhang, Cisse, Dauphin, Lopez-Paz. mixup: Beyond Empirical Risk Minimization.
  ICLR 2018.
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019.
"""

import tensorflow as tf

from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


def sample_coefficient(seed: tf.Tensor, *, concentration: float) -> tf.Tensor:
  """Draws one coefficient from Beta(concentration, concentration).

  It is not folded to max(x, 1 - x): SemiFL mixes symmetrically (A.8).

  Args:
    seed: int32 [2], a stateless seed.
    concentration: Positive; 0.75 in the paper.

  Returns:
    A float32 scalar in [0, 1].
  """
  return random_draws.beta(1, seed, concentration=concentration)[0]


def mix(
  first: tf.Tensor, second: tf.Tensor, coefficient: tf.Tensor
) -> tf.Tensor:
  """Returns `coefficient * first + (1 - coefficient) * second`.

  A coefficient of 1 returns `first`.

  Args:
    first: float [batch, height, width, channels].
    second: float, the same shape.
    coefficient: Scalar in [0, 1], or a tensor of them that is broadcast.
  """
  return coefficient * first + (1.0 - coefficient) * second


def sample_dominant_coefficients(
  seed: tf.Tensor, number: tf.Tensor | int, *, concentration: float
) -> tf.Tensor:
  """Draws a coefficient an image, folded to max(x, 1 - x).

  What is mixed keeps at least half of what it was, so that a labeled image
  stays one.

  Args:
    seed: int32 [2], a stateless seed.
    number: Images.
    concentration: Positive, both parameters of the Beta distribution.

  Returns:
    float32 [number] in [0.5, 1].
  """
  coefficients = random_draws.beta(number, seed, concentration=concentration)
  return tf.maximum(coefficients, 1.0 - coefficients)


def mix_with_each_other(
  images: tf.Tensor, labels: tf.Tensor, seed: tf.Tensor, *, concentration: float
) -> tuple[tf.Tensor, tf.Tensor]:
  """Mixes each image with another one of the batch, and their labels alike.

  The others are the batch in a new order.

  Args:
    images: float32 [batch, height, width, channels], or [batch, features].
    labels: float32 [batch, classes], the probability of each class.
    seed: int32 [2], a stateless seed.
    concentration: See `sample_dominant_coefficients`.

  Returns:
    Images and labels of the same shapes.
  """
  number = tf.shape(images)[0]
  order = tf.random.experimental.stateless_shuffle(
    tf.range(number), random_seeds.fold_in(seed, 0)
  )
  coefficients = sample_dominant_coefficients(
    random_seeds.fold_in(seed, 1), number, concentration=concentration
  )
  return (
    mix(
      images,
      tf.gather(images, order),
      tf.reshape(coefficients, [-1] + [1] * (images.shape.rank - 1)),
    ),
    mix(labels, tf.gather(labels, order), coefficients[:, tf.newaxis]),
  )
