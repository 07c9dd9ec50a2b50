# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Whether the images of a site are unlike those that a model was trained on.

Class shares can be adapted to, other images cannot: another scanner, a foreign
class. Images are summarized by the mean, the standard deviation and the mean
difference of neighboring pixels of each channel; feature vectors by themselves.
The mean of a site is compared with the means of the clients in training.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Of `measure_shift`. Fashion-MNIST, sites of two classes, has 0.1 to 2 with
# training's images, and more than 6 with images that are inverted, blurred, of
# half the brightness or noisy; images that are turned or moved go unnoticed.
GREATEST_SHIFT = 3.5
# A single odd number may not decide.
_GREATEST_RATIO = 25.0
# Fewer clients do not tell how much sites differ.
LEAST_CLIENTS = 5


class InputSums(NamedTuple):
  """Sums over clients, float64 [numbers], of moments of their summaries."""

  mean: tf.Tensor
  squared_mean: tf.Tensor
  variance: tf.Tensor  # Within the client.


class InputMoments(NamedTuple):
  """The distribution of summaries over clients."""

  mean: tuple[float, ...]  # The mean over clients.
  between: tuple[float, ...]  # The variance of clients' means.
  within: tuple[float, ...]  # The mean variance of an image within a client.


def summarize(inputs: tf.Tensor) -> tf.Tensor:
  """Float32 [batch, numbers], of images, [batch, ...], or [batch, features]."""
  inputs = tf.cast(inputs, tf.float32)
  if inputs.shape.rank == 2:
    return inputs
  mean, variance = tf.nn.moments(inputs, axes=[1, 2])
  differences = [
    tf.reduce_mean(tf.abs(each), axis=[1, 2])
    for each in (
      inputs[:, 1:] - inputs[:, :-1],
      inputs[:, :, 1:] - inputs[:, :, :-1],
    )
  ]
  return tf.concat([mean, tf.sqrt(variance), sum(differences) / 2], axis=-1)


def count_numbers(shape: Sequence[int]) -> int:
  """How many numbers a summary has, for inputs of this shape."""
  return shape[-1] * (3 if len(shape) > 1 else 1)


def to_sums(
  count: tf.Tensor, total: tf.Tensor, squares: tf.Tensor
) -> InputSums:
  """A client's part of the sums, float64.

  `count` is the number of its images, maybe 0; `total` and `squares`,
  [numbers], are sums of the summaries and of their squares.
  """
  mean = tf.math.divide_no_nan(total, count)
  variance = tf.math.divide_no_nan(squares, count) - tf.square(mean)
  return InputSums(mean, tf.square(mean), variance)


def find_moments(sums: InputSums, num_clients: float) -> InputMoments | None:
  """The moments of the sums over clients; None for too few clients."""
  if num_clients < LEAST_CLIENTS:
    return None
  mean, squared_mean, variance = (
    np.asarray(each, np.float64) / num_clients for each in sums
  )
  between = np.maximum(squared_mean - mean**2, 0.0)
  within = np.maximum(variance, 0.0)
  return InputMoments(*(tuple(x.tolist()) for x in (mean, between, within)))


def measure_shift(
  mean: tf.Tensor, count: tf.Tensor, moments: InputMoments
) -> tf.Tensor:
  """How far the images of a site are from those of clients.

  The mean over the numbers of a summary of the squared difference between the
  site's mean and the clients', divided by its variance; about 1 for a site like
  the clients. `mean`, float32 [numbers], is over `count` images of the site, a
  float32 scalar; `moments` are those of training.
  """
  expected, between, within = (
    tf.constant(each, tf.float32) for each in moments
  )
  variance = between + within / tf.maximum(count, 1.0)
  # What is constant in training may differ in the last digit.
  variance += 1e-10 * tf.square(expected) + 1e-6 * tf.reduce_mean(variance)
  ratio = tf.math.divide_no_nan(tf.square(mean - expected), variance)
  return tf.reduce_mean(tf.minimum(ratio, _GREATEST_RATIO))
