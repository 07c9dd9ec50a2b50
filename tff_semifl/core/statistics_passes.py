# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Computations of the statistics of static batch normalization.

Computations are `(<W@SERVER, D> -> W@SERVER)`: the statistics in the weights W
are replaced by statistics of the data D. Images and formulas differ:

    build_server_pass     the server's images, appendix B of SemiFL
    build_federated_pass  the clients' images, appendix B
    build_pooled_pass     all images in one place, the authors' code
"""

from collections.abc import Callable
import functools
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import batch_norm_statistics
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators


def build_server_pass(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the computation of statistics from the server's images.

  Its type is (<W@SERVER, L*@SERVER> -> W@SERVER). Batches of 250 images are
  pooled by the formula of appendix B of SemiFL: the variance is unbiased and
  includes differences between batches. Clients send nothing. L are chunks of
  `pipelines.labeled_type`; without images the weights W stay unchanged.
  """
  return _place_at_server(
    functools.partial(
      batch_norm_statistics.compute_server_statistics, classifier
    ),
    classifier.weights_type,
    pipelines.labeled_type(classifier.image_shape),
  )


def build_federated_pass(
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
    moments = batch_norm_statistics.merge_batches(classifier, weights, dataset)
    is_sound = aggregators.has_finite_norm(moments)
    return aggregators.zero_unless(is_sound, moments)

  moments_type = compute_moments.type_signature.result
  zero = tff.tensorflow.computation(
    lambda: batch_norm_statistics.zero_moments(classifier)
  )

  @tff.tensorflow.computation(moments_type, moments_type)
  def merge(first: Any, second: Any):
    return tuple(map(batch_norm_statistics.merge_moments, first, second))

  @tff.tensorflow.computation(moments_type)
  def report(moments: Any):
    return tuple(map(batch_norm_statistics.unbiased_statistics, moments))

  replace = tff.tensorflow.computation(
    batch_norm_statistics.replace_statistics,
    (weights_type, report.type_signature.result),
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


def build_pooled_pass(
  classifier: functional.ImageClassifier,
  *,
  batch_size: int = batch_norm_statistics.BATCH_SIZE,
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
    averages = batch_norm_statistics.fold_batches(
      classifier, weights, images, _average_batches, batch_size
    )
    return batch_norm_statistics.replace_statistics(weights, averages)

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
  at_server = tff.tensorflow.computation(compute, (weights_type, data_type))

  @tff.federated_computation(
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def batch_norm_statistics(weights, dataset):
    return tff.federated_map(at_server, (weights, dataset))

  return batch_norm_statistics


def _average_batches(total: tf.Tensor, moments: tf.Tensor) -> tf.Tensor:
  num_batches, *averages = tf.unstack(total)
  _, *statistics = tf.unstack(
    batch_norm_statistics.unbiased_statistics(moments)
  )
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
