# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Moments of the inputs of normalization layers, over batches of images.

The moments of a layer are float [3, channels]: the number of values, their
mean, and the sum of squared deviations.
"""

from collections.abc import Callable, Iterable

import tensorflow as tf

from tff_semifl.data import folding
from tff_semifl.models import functional

# The inputs of deeper layers are normalized by batches of this size.
BATCH_SIZE = 250


def check_has_statistics(classifier: functional.ImageClassifier) -> None:
  """Raises a ValueError for a model without static batch normalization."""
  if classifier.batch_moments is None:
    raise ValueError(
      'The model has no static batch normalization, so that there are no'
      ' statistics to compute. Please choose a model that has it, or no'
      ' statistics.'
    )


def zero_moments(
  classifier: functional.ImageClassifier,
) -> tuple[tf.Tensor, ...]:
  """The moments of no values: zeros, float32 [3, channels] for each layer."""
  # Each layer has two statistics, mean and variance, of the same shape.
  return tuple(
    tf.zeros([3, *mean.shape], tf.float32)
    for mean in classifier.initial_weights.non_trainable[::2]
  )


def fold_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.data.Dataset,
  add_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  *,
  batch_size: int = BATCH_SIZE,
) -> tuple[tf.Tensor, ...]:
  """Combines the moments of each layer's inputs over batches of images.

  Batches cross the boundaries of chunks, uint8 [number, height, width,
  channels]; the last one may be smaller. At most a chunk and a batch of images
  are in memory. `add_fn` is (total, moments of a batch) -> total for one layer,
  each float64 [3, channels]. Returns a total for each layer, float32 [3,
  channels]; zeros without images.
  """

  def add_batch(
    totals: tuple[tf.Tensor, ...], batch: tf.Tensor
  ) -> tuple[tf.Tensor, ...]:
    moments = classifier.batch_moments(weights, tf.cast(batch, tf.float32))
    return tuple(map(add_fn, totals, _cast(moments, tf.float64)))

  totals = folding.fold(
    images.rebatch(batch_size),
    _cast(zero_moments(classifier), tf.float64),
    add_batch,
  )
  return _cast(totals, tf.float32)


def _cast(
  moments: Iterable[tf.Tensor], dtype: tf.DType
) -> tuple[tf.Tensor, ...]:
  return tuple(tf.cast(each, dtype) for each in moments)


def merge_moments(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """The moments of the union of two sets of values, float [3, channels].

  Sums of values and squares would be simpler, but their difference loses the
  variance in float32 if the mean is large.

  References:
    Chan, Golub, LeVeque. Updating formulae and a pairwise algorithm for
    computing sample variances. 1979.
  """
  first_count, first_mean, first_deviations = tf.unstack(first)
  second_count, second_mean, second_deviations = tf.unstack(second)
  count = first_count + second_count
  difference = second_mean - first_mean
  share = tf.math.divide_no_nan(second_count, count)
  return tf.stack(
    [
      count,
      first_mean + difference * share,
      first_deviations
      + second_deviations
      + tf.square(difference) * first_count * share,
    ]
  )


def unbiased_statistics(moments: tf.Tensor) -> tf.Tensor:
  """Count, mean, variance (unbiased, 0 for one value), float [3, channels]."""
  count, mean, deviations = tf.unstack(moments)
  return tf.stack([count, mean, deviations / tf.maximum(count - 1.0, 1.0)])


def replace_statistics(
  weights: functional.ModelWeights, statistics: Iterable[tf.Tensor]
) -> functional.ModelWeights:
  """The weights with new statistics.

  `statistics` has float32 [3, channels] for each layer: count, mean, variance.
  A count of 0 keeps the old statistics.
  """
  counts, new = [], []
  for layer in statistics:
    count, mean, variance = tf.unstack(layer)
    counts += [count, count]
    new += [mean, variance]
  return functional.ModelWeights(
    weights.trainable,
    tuple(
      tf.where(count > 0, statistic, old)
      for count, statistic, old in zip(
        counts, new, weights.non_trainable, strict=True
      )
    ),
  )
