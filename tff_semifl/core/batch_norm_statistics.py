# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalization, computed for given weights.

A pass over images without augmentation, in training mode, finds the mean and
variance of the inputs of each normalization layer (SemiFL, NeurIPS 2022,
section 3.4 and appendix B). Builders return computations `(<W@SERVER, D> ->
W@SERVER)` that replace these statistics in the weights W. They use different
images and formulas:

    builder                                images and formula
    build_server_batch_norm_statistics     the server's, appendix B
    build_federated_batch_norm_statistics  the clients', appendix B
    build_pooled_batch_norm_statistics     all in one place, the authors' code

The moments of a layer are float [3, channels]: the number of values, their
mean, and the sum of squared deviations.
"""

from collections.abc import Callable, Iterable
import functools
import operator
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators

# The inputs of deeper layers are normalized by batches of this size.
BATCH_SIZE = 250


def build_server_batch_norm_statistics(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the computation of statistics from the server's images.

  Its type is (<W@SERVER, L*@SERVER> -> W@SERVER). Batches of 250 images are
  pooled by the formula of appendix B of SemiFL: the variance is unbiased and
  includes differences between batches. Clients send nothing. L are chunks of
  `pipelines.labeled_type`; without images the weights W stay unchanged.
  """
  return _place_at_server(
    functools.partial(compute_server_statistics, classifier),
    classifier.weights_type,
    pipelines.labeled_type(classifier.image_shape),
  )


def compute_server_statistics(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> functional.ModelWeights:
  """Replaces the statistics in `weights` by the statistics of a data set.

  `dataset` has chunks of `pipelines.labeled_type`. Without images the weights
  stay unchanged.
  """
  moments = _merge_batches(classifier, weights, dataset)
  return _replace_statistics(weights, map(unbiased_statistics, moments))


def build_federated_batch_norm_statistics(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the computation of statistics from the clients' images.

  Its type is (<W@SERVER, {U*}@CLIENTS> -> W@SERVER). Each client computes the
  moments of each layer's inputs over its images, in batches of 250. N_m values
  with mean mu_m and unbiased variance v_m at client m are pooled as in appendix
  B of SemiFL:

      mean = sum_m N_m mu_m / sum_m N_m
      variance = sum_m [(N_m - 1) v_m + N_m (mu_m - mean)^2] / (sum_m N_m - 1)

  These are the exact mean and unbiased variance of all values that the layer
  saw. Inputs of deeper layers are normalized by batches of one client's images;
  if clients have few classes, the result differs from statistics of mixed
  batches. The server sees only the pooled moments, 3 numbers per channel.
  Secure summation cannot pool moments, because pooling is not a sum.

  U are chunks of `pipelines.client_type`; without images the weights W stay
  unchanged. Clients whose moments have no finite norm in float32 are left out.
  """
  weights_type = classifier.weights_type
  data_type = pipelines.client_type(classifier.image_shape)

  @tff.tensorflow.computation(weights_type, data_type)
  def compute_moments(
    weights: functional.ModelWeights, dataset: tf.data.Dataset
  ):
    moments = _merge_batches(classifier, weights, dataset)
    is_sound = aggregators.has_finite_norm(moments)
    return tuple(tf.where(is_sound, a, tf.zeros_like(a)) for a in moments)

  moments_type = compute_moments.type_signature.result
  zero = tff.tensorflow.computation(lambda: _zero_moments(classifier))

  @tff.tensorflow.computation(moments_type, moments_type)
  def merge(first: Any, second: Any):
    return tuple(map(merge_moments, first, second))

  @tff.tensorflow.computation(moments_type)
  def report(moments: Any):
    return tuple(map(unbiased_statistics, moments))

  replace = tff.tensorflow.computation(
    _replace_statistics, (weights_type, report.type_signature.result)
  )

  @tff.federated_computation(
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def federated_batch_norm_statistics(weights, dataset):
    moments = tff.federated_map(
      compute_moments, (tff.federated_broadcast(weights), dataset)
    )
    statistics = tff.federated_aggregate(moments, zero(), merge, merge, report)
    return tff.federated_map(replace, (weights, statistics))

  return federated_batch_norm_statistics


def build_pooled_batch_norm_statistics(
  classifier: functional.ImageClassifier, *, batch_size: int = BATCH_SIZE
) -> tff.Computation:
  """Builds the computation of statistics as in the code of SemiFL's authors.

  Its type is (<W@SERVER, uint8[?,H,W,C]*@SERVER> -> W@SERVER). The images are
  in one place, and batches cross the boundaries of chunks, clients and classes.
  The statistics are plain means of batch means and of unbiased batch variances;
  the last batch counts as a full batch. Differences between batches are
  ignored, so that the variance is too small if each batch has one class.
  Without images the weights W stay unchanged.
  """

  def compute(weights: functional.ModelWeights, images: tf.data.Dataset):
    averages = _fold_batches(
      classifier, weights, images, _average_batches, batch_size
    )
    return _replace_statistics(weights, averages)

  return _place_at_server(
    compute,
    classifier.weights_type,
    tff.SequenceType(pipelines.batch_type(classifier.image_shape)),
  )


def _place_at_server(
  compute: Callable[..., functional.ModelWeights],
  weights_type: tff.Type,
  data_type: tff.Type,
) -> tff.Computation:
  """The computation (<W@SERVER, D@SERVER> -> W@SERVER)."""
  at_server = tff.tensorflow.computation(compute, (weights_type, data_type))

  @tff.federated_computation(
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def batch_norm_statistics(weights, dataset):
    return tff.federated_map(at_server, (weights, dataset))

  return batch_norm_statistics


def _fold_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.data.Dataset,
  add_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  batch_size: int,
) -> tuple[tf.Tensor, ...]:
  """A total for each layer, float32 [3, channels], over batches of images."""

  def add_batch(totals: tuple[tf.Tensor, ...], batch: tf.Tensor):
    moments = classifier.batch_moments(weights, tf.cast(batch, tf.float32))
    return tuple(map(add_fn, totals, _cast(moments, tf.float64)))

  totals = pipelines.fold(
    images.rebatch(batch_size),
    _cast(_zero_moments(classifier), tf.float64),
    add_batch,
  )
  return _cast(totals, tf.float32)


def _merge_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> tuple[tf.Tensor, ...]:
  """The moments of each layer's inputs over chunks with `image`."""
  images = dataset.map(operator.itemgetter('image'))
  return _fold_batches(classifier, weights, images, merge_moments, BATCH_SIZE)


def _cast(
  moments: Iterable[tf.Tensor], dtype: tf.DType
) -> tuple[tf.Tensor, ...]:
  return tuple(tf.cast(each, dtype) for each in moments)


def _zero_moments(
  classifier: functional.ImageClassifier,
) -> tuple[tf.Tensor, ...]:
  """The moments of no values, float32 [3, channels] for each layer."""
  # Each layer has two statistics, mean and variance, of the same shape.
  return tuple(
    tf.zeros([3, *mean.shape], tf.float32)
    for mean in classifier.initial_weights.non_trainable[::2]
  )


def merge_moments(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """The moments of the union of two sets of values, float [3, channels].

  Sums of values and squares would be simpler, but their difference loses the
  variance in float32 if the mean is large. (Chan, Golub, LeVeque. Updating
  formulae and a pairwise algorithm for computing sample variances. 1979.)
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


def _average_batches(total: tf.Tensor, moments: tf.Tensor) -> tf.Tensor:
  """Updates the batch count and the running means of batch statistics."""
  num_batches, *averages = tf.unstack(total)
  _, *statistics = tf.unstack(unbiased_statistics(moments))
  num_batches += 1.0
  return tf.stack(
    [
      num_batches,
      *(
        average + (statistic - average) / num_batches
        for average, statistic in zip(averages, statistics, strict=True)
      ),
    ]
  )


def unbiased_statistics(moments: tf.Tensor) -> tf.Tensor:
  """Count, mean, variance (unbiased, 0 for one value), float [3, channels]."""
  count, mean, deviations = tf.unstack(moments)
  return tf.stack([count, mean, deviations / tf.maximum(count - 1.0, 1.0)])


def _replace_statistics(
  weights: functional.ModelWeights, statistics: Iterable[tf.Tensor]
) -> functional.ModelWeights:
  """The weights with new statistics; a count of 0 keeps the old statistics."""
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
