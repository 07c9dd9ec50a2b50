# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Detects sites and single images that differ from the images in training.

A model can adapt to other class shares, but not to images of another kind, for
example from another scanner. To detect such a site, the mean summary of its
images is compared with the summaries of clients in training. The summary of an
image has three numbers per channel: mean, standard deviation, and mean absolute
difference of neighboring pixels. A feature vector is its own summary.

A single image is foreign if it belongs to none of the classes. The entropy of
class probabilities is often higher for foreign images than for images of
clients. Relative entropy is divided by the entropy of equal probabilities.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from scipy import special
import tensorflow as tf

# The greatest `measure_shift` of a site like the clients. On Fashion-MNIST,
# sites of two classes have 0.1 to 2 with unchanged images, and more than 6 if
# images are inverted, blurred, noisy or half as bright. Rotation and
# translation go unnoticed.
GREATEST_SHIFT = 3.5
# The greatest ratio of one number, so that a single number does not decide.
_GREATEST_RATIO = 25.0
# Fewer clients do not show how much sites differ.
LEAST_CLIENTS = 5
_BINS = 512
QUANTILES = np.linspace(0, 1, 101)


class InputSums(NamedTuple):
  """Sums over clients of moments of image summaries, float64 [numbers]."""

  mean: tf.Tensor
  squared_mean: tf.Tensor
  variance: tf.Tensor  # The variance within the client.


class InputMoments(NamedTuple):
  """The distribution over clients of each number of an image summary."""

  mean: tuple[float, ...]  # The mean over clients.
  between: tuple[float, ...]  # The variance of clients' means.
  within: tuple[float, ...]  # The mean variance of an image within a client.


def summarize(inputs: tf.Tensor) -> tf.Tensor:
  """Summaries, float32 [batch, numbers], of images or of feature vectors."""
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
  """The length of a summary, for inputs of this shape."""
  return shape[-1] * (3 if len(shape) > 1 else 1)


def to_sums(
  count: tf.Tensor, total: tf.Tensor, squares: tf.Tensor
) -> InputSums:
  """A client's contribution to `InputSums`, float64.

  `count` is the number of images, possibly 0; `total` and `squares`, [numbers],
  are sums of the summaries and of the squared summaries.
  """
  mean = tf.math.divide_no_nan(total, count)
  variance = tf.math.divide_no_nan(squares, count) - tf.square(mean)
  return InputSums(mean, tf.square(mean), variance)


def find_moments(sums: InputSums, num_clients: float) -> InputMoments | None:
  """The `InputMoments`, from sums over clients; None for too few clients."""
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
  """The distance of a site's images from the clients' images, float32 scalar.

  For each number of a summary, the squared difference between the means of site
  and clients is divided by the variance of a client's mean. The distance is the
  average of these ratios, about 1 for a site like the clients. `mean`, float32
  [numbers], is the mean summary of the site's images, and `count`, a float32
  scalar, is the number of these images. `moments` come from training.
  """
  expected, between, within = (
    tf.constant(each, tf.float32) for each in moments
  )
  variance = between + within / tf.maximum(count, 1.0)
  # Numbers that are constant in training may differ by rounding.
  variance += 1e-10 * tf.square(expected) + 1e-6 * tf.reduce_mean(variance)
  ratio = tf.math.divide_no_nan(tf.square(mean - expected), variance)
  return tf.reduce_mean(tf.minimum(ratio, _GREATEST_RATIO))


def count_entropies(logits: tf.Tensor) -> tf.Tensor:
  """A histogram of the relative entropy of images, float32 [bins].

  `logits` are float32 [images, classes], with at least two classes.
  """
  logs = tf.nn.log_softmax(logits)
  entropy = -tf.reduce_sum(tf.exp(logs) * logs, axis=1)
  relative = entropy / math.log(logits.shape[1])
  return tf.cast(
    tf.histogram_fixed_width(relative, [0.0, 1.0], _BINS), tf.float32
  )


def find_entropy_quantiles(counts: np.ndarray) -> tuple[float, ...]:
  """The percentiles 0 to 100 of relative entropy, from `count_entropies`."""
  below = np.append(0, np.cumsum(counts, dtype=np.float64))
  edges = np.linspace(0, 1, _BINS + 1)
  return tuple(np.interp(QUANTILES, below / below[-1], edges).tolist())


def measure_foreignness(
  probabilities: np.ndarray, quantiles: tuple[float, ...]
) -> np.ndarray:
  """The share of clients' training images that are less foreign than an image.

  Args:
    probabilities: float [images, classes].
    quantiles: From `find_entropy_quantiles`.

  Returns:
    float64 [images], in 0..1. Of images like those of training, one in twenty
    has a share above 0.95.
  """
  entropy = special.entr(probabilities.astype(np.float64)).sum(axis=1)
  relative = entropy / math.log(probabilities.shape[1])
  return np.interp(relative, quantiles, QUANTILES)
