# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalization, computed for given weights.

A pass over images without augmentation, in training mode, finds the mean and
variance of the inputs of each normalization layer (SemiFL, NeurIPS 2022,
section 3.4 and appendix B). `statistics_passes` has computations for TFF, and
`static_batch_norm.collecting_moments` describes the moments of a layer.
"""

from collections.abc import Callable, Iterable
import operator

import tensorflow as tf

from tff_semifl.data import pipelines
from tff_semifl.models import functional

# The inputs of deeper layers are normalized by batches of this size.
BATCH_SIZE = 250


def compute_server_statistics(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> functional.ModelWeights:
  """Replaces the statistics in `weights` by the statistics of a data set.

  `dataset` has chunks of `pipelines.labeled_type`. Without images the weights
  stay unchanged.
  """
  moments = merge_batches(classifier, weights, dataset)
  return replace_statistics(weights, map(unbiased_statistics, moments))


def fold_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.data.Dataset,
  add_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  batch_size: int,
) -> tuple[tf.Tensor, ...]:
  """Totals of the moments of batches, float32 [3, channels] for each layer.

  `add_fn` is (total, moments of a batch) -> the new total.
  """

  def add_batch(totals: tuple[tf.Tensor, ...], batch: tf.Tensor):
    moments = classifier.batch_moments(weights, batch)
    return tuple(map(add_fn, totals, _cast(moments, tf.float64)))

  totals = pipelines.fold(
    images.rebatch(batch_size),
    _cast(zero_moments(classifier), tf.float64),
    add_batch,
  )
  return _cast(totals, tf.float32)


def merge_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> tuple[tf.Tensor, ...]:
  """The moments of each layer's inputs over all images of `dataset`."""
  images = dataset.map(operator.itemgetter('image'))
  return fold_batches(classifier, weights, images, merge_moments, BATCH_SIZE)


def _cast(
  moments: Iterable[tf.Tensor], dtype: tf.DType
) -> tuple[tf.Tensor, ...]:
  return tuple(tf.cast(each, dtype) for each in moments)


def zero_moments(
  classifier: functional.ImageClassifier,
) -> tuple[tf.Tensor, ...]:
  """The moments of an empty set, float32 [3, channels] for each layer."""
  # Each layer has two statistics, mean and variance, of the same shape.
  return tuple(
    tf.zeros([3, *mean.shape], tf.float32)
    for mean in classifier.initial_weights.non_trainable[::2]
  )


def merge_moments(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """The moments of the union of two sets of values, float [3, channels].

  In float32 and with a large mean, subtracting the squared mean from the mean
  square would lose the variance. (Chan, Golub, LeVeque. Updating formulae and a
  pairwise algorithm for computing sample variances. 1979.)
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
  """Count, mean, unbiased variance (0 for one value): float [3, channels]."""
  count, mean, deviations = tf.unstack(moments)
  return tf.stack([count, mean, deviations / tf.maximum(count - 1.0, 1.0)])


def replace_statistics(
  weights: functional.ModelWeights, statistics: Iterable[tf.Tensor]
) -> functional.ModelWeights:
  """The weights with new statistics; layers without values keep old ones."""
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
