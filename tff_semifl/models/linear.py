# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A linear classifier: multinomial logistic regression."""

from collections.abc import Sequence

import tensorflow as tf


def create_linear(
  input_shape: Sequence[int],
  num_classes: int,
  *,
  mean: Sequence[float],
  standard_deviation: Sequence[float],
) -> tf.keras.Model:
  """Creates a standardization and a dense layer with zero initial weights.

  The loss is convex, so that initial weights do not matter.
  """
  inputs = tf.keras.Input(input_shape)
  x = tf.keras.layers.Rescaling(
    [1 / s for s in standard_deviation],
    [-m / s for m, s in zip(mean, standard_deviation, strict=True)],
  )(inputs)
  x = tf.keras.layers.Flatten()(x)
  logits = tf.keras.layers.Dense(num_classes, kernel_initializer='zeros')(x)
  return tf.keras.Model(inputs, logits, name='linear')
