# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mixup, with a coefficient per batch (SemiFL) or per image (MixMatch).

References:
  Zhang, Cisse, Dauphin, Lopez-Paz. mixup: Beyond Empirical Risk Minimization.
  ICLR 2018.

  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019.
"""

import tensorflow as tf

from tff_semifl.randomness import random_draws


def sample_coefficient(seed: tf.Tensor, *, concentration: float) -> tf.Tensor:
  """Draws a float32 coefficient from Beta(concentration, concentration).

  SemiFL mixes symmetrically, without max(x, 1 - x), with a concentration of
  0.75.
  """
  return random_draws.beta(1, seed, concentration=concentration)[0]


def mix(
  first: tf.Tensor, second: tf.Tensor, coefficient: tf.Tensor
) -> tf.Tensor:
  """`coefficient * first + (1 - coefficient) * second`."""
  return coefficient * first + (1.0 - coefficient) * second


def sample_dominant_coefficients(
  seed: tf.Tensor, number: tf.Tensor | int, *, concentration: float
) -> tf.Tensor:
  """Draws coefficients max(x, 1 - x), float32 [number], with x from a Beta.

  Both parameters of the Beta distribution are `concentration`. A mixed image is
  at least half the original image.
  """
  coefficients = random_draws.beta(number, seed, concentration=concentration)
  return tf.maximum(coefficients, 1.0 - coefficients)


def mix_with_each_other(
  images: tf.Tensor, labels: tf.Tensor, seed: tf.Tensor, *, concentration: float
) -> tuple[tf.Tensor, tf.Tensor]:
  """Mixes images, and their labels, with a permutation of the batch.

  `images` are float32 [batch, height, width, channels] or [batch, features];
  `labels` are float32 [batch, classes].
  """
  number = tf.shape(images)[0]
  order = tf.random.experimental.stateless_shuffle(
    tf.range(number), random_draws.fold_in(seed, 0)
  )
  coefficients = sample_dominant_coefficients(
    random_draws.fold_in(seed, 1), number, concentration=concentration
  )
  return (
    mix(
      images,
      tf.gather(images, order),
      tf.reshape(coefficients, [-1] + [1] * (images.shape.rank - 1)),
    ),
    mix(labels, tf.gather(labels, order), coefficients[:, tf.newaxis]),
  )
