# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""How clients' updates become one: TFF's factories, without hidden generators.

Each can be handed to the builders of the systems. A weighted one leaves out
clients whose weight is 0, those without a confident image say; an unweighted
one, the private one, lets them count with an update of zero.
"""

import math

import numpy as np
import tensorflow_federated as tff
import tensorflow_privacy

from tff_semifl import privacy_key
from tff_semifl.algorithms import keyed_gaussian_query

# Minimum and maximum of a smaller tensor weigh as much as what is saved.
_MIN_QUANTIZED_ELEMENTS = 256


def build_mean() -> tff.aggregators.WeightedAggregationFactory:
  """Builds the uniform mean of the clients that count (A.12)."""
  # The mean over no client at all is zero, not 0 / 0.
  return tff.aggregators.MeanFactory(no_nan_division=True)


def build_robust_mean(
  *, clipping_quantile: float = 0.8
) -> tff.aggregators.WeightedAggregationFactory:
  """Builds a mean that long updates move but little.

  It is `tff.learning.robust_aggregator` with its quantile as an argument: an
  update far longer than those seen so far counts as zero, and one longer than
  the quantile of them is clipped to it. Clients that do not count take part in
  the estimates, with a length of zero.

  Args:
    clipping_quantile: Which updates stay as they are, in (0, 1).
  """
  estimate = tff.aggregators.PrivateQuantileEstimationProcess.no_noise
  clipping_norm = estimate(
    initial_estimate=1.0, target_quantile=clipping_quantile, learning_rate=0.2
  )
  # Rises at once to a little more than twice the longest.
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
  """Builds the mean that differential privacy asks for (McMahan et al., 2018).

  Updates are clipped, summed and noised, and the sum is divided by a number
  that does not depend on who took part. What it guarantees is that of the
  weights; what metrics say of clients is not noised.

  Args:
    noise_multiplier: Standard deviation of the noise, in clipping norms.
    clipping_norm: Longest update; longer ones are scaled down to it.
    clients_per_round: What the sum is divided by.
    key: What the noise follows from, and nothing else may: `PrivacyKey.draw()`,
      kept for as long as the run may be resumed. Whoever knows it can subtract
      the noise, so the cohorts of the run should follow from it as well.
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
  """Builds the mean of updates that clients send in few bits.

  Each tensor is rounded to `2**bits` values from its minimum to its maximum;
  to the nearest, as drawn numbers would not follow from the run's seed.

  Args:
    bits: From 1 to 16.
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
  """Creates what aggregates updates, weighted or not as the factory has it."""
  if isinstance(factory, tff.aggregators.WeightedAggregationFactory):
    return factory.create(value_type, tff.TensorType(np.float32))
  return factory.create(value_type)
