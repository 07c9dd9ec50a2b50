# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Aggregators of the clients' updates.

All aggregators are TFF's factories. Their only random numbers are the noise of
the private mean, which follows from the run's key. Weighted factories leave out
clients of weight 0, such as clients without a confident image. The private mean
is unweighted, and includes such clients with an update of zero.
"""

import collections
import functools
import math
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff
import tensorflow_privacy

from tff_semifl.privacy import keyed_gaussian_query
from tff_semifl.privacy import privacy_key

# Quantizing a smaller tensor saves no more than its minimum and maximum, which
# are sent with the quantized values, cost.
_MIN_QUANTIZED_ELEMENTS = 256


def build_mean() -> tff.aggregators.WeightedAggregationFactory:
  """Builds a weighted mean; the mean over no clients is 0."""
  # By default, the mean over no clients is 0 / 0.
  return tff.aggregators.MeanFactory(no_nan_division=True)


def build_robust_mean(
  *, clipping_quantile: float = 0.8
) -> tff.aggregators.WeightedAggregationFactory:
  """Builds a mean that limits the influence of long updates.

  This is `tff.learning.robust_aggregator` with the quantile as an argument. An
  update far longer than earlier updates counts as zero. An update longer than
  the estimated quantile is clipped to that length. Clients of weight 0 enter
  the estimates with norm 0.
  """
  estimate = tff.aggregators.PrivateQuantileEstimationProcess.no_noise
  clipping_norm = estimate(
    initial_estimate=1.0, target_quantile=clipping_quantile, learning_rate=0.2
  )
  # The estimate rises quickly to a little more than twice the longest update.
  zeroing_norm = estimate(
    initial_estimate=10.0,
    target_quantile=0.98,
    learning_rate=math.log(10.0),
    multiplier=2.0,
    increment=1.0,
  )
  return tff.aggregators.zeroing_factory(
    zeroing_norm,
    tff.aggregators.clipping_factory(clipping_norm, build_mean()),
  )


def build_private_mean(
  *,
  noise_multiplier: float,
  clipping_norm: float,
  clients_per_round: int,
  key: privacy_key.PrivacyKey,
) -> tff.aggregators.UnweightedAggregationFactory:
  """Builds the mean with differential privacy (McMahan et al., 2018).

  Updates are clipped and summed, Gaussian noise is added, and the sum is
  divided by `clients_per_round`, whichever clients took part. The guarantee
  covers the weights, but not the clients' metrics.

  Args:
    key: The secret key of the noise, from `PrivacyKey.draw()`. Keep the key as
      long as the run may be resumed. Anyone who knows the key can subtract the
      noise. Cohorts must stay secret, and should follow from this key, too.
  """
  query = keyed_gaussian_query.KeyedGaussianSumQuery(
    l2_norm_clip=clipping_norm,
    stddev=noise_multiplier * clipping_norm,
    key=key,
  )
  return tff.aggregators.DifferentiallyPrivateFactory(
    tensorflow_privacy.NormalizedQuery(query, float(clients_per_round))
  )


def build_quantized_mean(
  *, bits: int = 8
) -> tff.aggregators.WeightedAggregationFactory:
  """Builds the mean of quantized updates.

  Each element is rounded to the nearest of `2**bits` values, spaced evenly from
  the minimum to the maximum of its tensor. Rounding is not stochastic, because
  TFF's random numbers would not follow from the run's seed.
  """
  return tff.aggregators.MeanFactory(
    tff.aggregators.EncodedSumFactory.quantize_above_threshold(
      quantization_bits=bits,
      threshold=_MIN_QUANTIZED_ELEMENTS,
      stochastic=False,
    ),
    no_nan_division=True,
  )


def create(
  factory: tff.aggregators.AggregationFactory, value_type: tff.Type
) -> tff.templates.AggregationProcess:
  """Creates an aggregation process; weights, if any, are float32."""
  if isinstance(factory, tff.aggregators.WeightedAggregationFactory):
    return factory.create(value_type, tff.TensorType(np.float32))
  return factory.create(value_type)


def build_finalizer(
  optimizer: tff.learning.optimizers.Optimizer, weights_type: tff.Type
) -> tff.learning.templates.FinalizerProcess:
  """Builds a finalizer that passes the update to an optimizer as a gradient.

  Equivalent to `tff.learning.templates.build_apply_optimizer_finalizer`, but
  built in a seventh of the time, as AutoGraph does not convert the optimizer.
  An update that is not finite changes neither weights nor state; the
  measurement `update_non_finite` is then 1, otherwise 0.
  """
  trainable_type = weights_type.trainable

  @tff.tensorflow.computation
  def initial_state():
    return optimizer.initialize(
      tuple(
        tf.TensorSpec(part.shape, part.dtype.type) for part in trainable_type
      )
    )

  @tff.tensorflow.computation(
    initial_state.type_signature.result, weights_type, trainable_type
  )
  def apply(state: Any, weights: Any, update: Any):
    is_finite = tf.reduce_all(
      [tf.reduce_all(tf.math.is_finite(part)) for part in update]
    )
    new_state, new_trainable = optimizer.next(state, weights.trainable, update)
    state, trainable = tf.nest.map_structure(
      functools.partial(tf.where, is_finite),
      (new_state, tuple(new_trainable)),
      (state, tuple(weights.trainable)),
    )
    return (
      state,
      type(weights)(trainable, weights.non_trainable),
      collections.OrderedDict(
        update_non_finite=tf.cast(tf.logical_not(is_finite), tf.int32)
      ),
    )

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_eval(initial_state, tff.SERVER)

  @tff.federated_computation(
    initialize_fn.type_signature.result,
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(trainable_type, tff.SERVER),
  )
  def next_fn(state, weights, update):
    return tff.templates.MeasuredProcessOutput(
      *tff.federated_map(apply, (state, weights, update))
    )

  return tff.learning.templates.FinalizerProcess(initialize_fn, next_fn)


def has_finite_norm(values: Any) -> tf.Tensor:
  """Whether the joint L2 norm of all floats in a structure is finite, bool [].

  Finite numbers above 1.8e19 have no finite norm, as their squares overflow
  float32. Clipping such numbers to a norm would give NaN.
  """
  arrays = map(tf.convert_to_tensor, tf.nest.flatten(values))
  norm = tf.linalg.global_norm(
    [tf.cast(a, tf.float32) for a in arrays if a.dtype.is_floating]
  )
  return tf.math.is_finite(norm)
