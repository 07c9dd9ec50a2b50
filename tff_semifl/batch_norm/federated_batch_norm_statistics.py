# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalization that clients compute together.

SemiFL (NeurIPS 2022), appendix B: each client computes the moments of its own
images, and these are pooled.
"""

import operator
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.aggregation import finite_norm
from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.data import pipelines
from tff_semifl.models import functional


def build_federated_batch_norm_statistics(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the statistics of the clients' images.

  Each client computes the moments of the inputs of each layer over its images,
  in batches of 250. With N values of mean mu and unbiased variance v at client
  m, they are pooled as in appendix B of SemiFL:

      mean = sum_m N_m mu_m / sum_m N_m
      variance = sum_m [(N_m - 1) v_m + N_m (mu_m - mean)^2] / (sum_m N_m - 1)

  These are the exact mean and unbiased variance of all values that the layer
  saw. Inputs of deeper layers are normalized by batches of one client's images;
  if clients have few classes, the result differs from that of mixed batches
  (`pooled_batch_norm_statistics`). The server sees only the aggregate of the
  moments, 3 numbers per channel. It is not a sum, so that secure summation
  cannot compute it.

  Returns:
    A computation with W for model weights and U for chunks of
    `pipelines.client_type`:

        (<W@SERVER, {U*}@CLIENTS> -> W@SERVER)

    Without images it returns the weights unchanged. Clients whose moments have
    no finite norm in float32 are left out.
  """
  batch_norm_statistics.check_has_statistics(classifier)
  weights_type = classifier.weights_type
  data_type = pipelines.client_type(classifier.image_shape)

  @tff.tensorflow.computation(weights_type, data_type)
  def compute_moments(
    weights: functional.ModelWeights, dataset: tf.data.Dataset
  ):
    moments = batch_norm_statistics.fold_batches(
      classifier,
      weights,
      dataset.map(operator.itemgetter('image')),
      batch_norm_statistics.merge_moments,
    )
    is_sound = finite_norm.has_finite_norm(moments)
    return tuple(tf.where(is_sound, a, tf.zeros_like(a)) for a in moments)

  moments_type = compute_moments.type_signature.result

  @tff.tensorflow.computation
  def zero():
    return batch_norm_statistics.zero_moments(classifier)

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
