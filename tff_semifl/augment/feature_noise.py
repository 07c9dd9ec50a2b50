# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Strong augmentation of feature vectors: Gaussian noise."""

from collections.abc import Sequence

import tensorflow as tf

from tff_semifl.randomness import random_draws

# Standard deviation of the noise, in standard deviations of the feature.
NOISE = 0.5


def add_noise(
  features: tf.Tensor, seed: tf.Tensor, *, standard_deviation: Sequence[float]
) -> tf.Tensor:
  """Adds Gaussian noise of `NOISE` times each feature's standard deviation.

  Features are float32 [batch, features], the seed is stateless, int32 [2].
  """
  noise = random_draws.normal(tf.shape(features), seed)
  return features + NOISE * tf.constant(standard_deviation, tf.float32) * noise
