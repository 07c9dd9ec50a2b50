# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings for the aggregation and the rejection of clients' updates.

The default aggregator is the mean. Weighted means leave out clients of weight
0, such as clients without a confident image.
"""

from collections.abc import Iterable
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.privacy import means


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mean(means.Aggregator):
  """The mean of clients' updates, with the client method's weights."""

  def build(self, **_: Any) -> tff.aggregators.WeightedAggregationFactory:
    # By default, the mean over no clients is 0 / 0.
    return tff.aggregators.MeanFactory(no_nan_division=True)


AGGREGATORS = {
  'mean': Mean(),
  'robust': means.RobustMean(),
  'differential_privacy': means.PrivateMean(),
  'compression': means.QuantizedMean(),
}
_MEANINGS = {
  'mean': 'the uniform mean of those that count',
  'robust': (
    'of updates clipped to a quantile of their norms, without far longer ones'
  ),
  'differential_privacy': 'of clipped updates, with noise',
  'compression': 'of updates quantized to a few bits',
}


def _describe(names: Iterable[str]) -> str:
  meanings = '; '.join(f'{name}, {_MEANINGS[name]}' for name in names)
  return f"Aggregation of clients' updates: {meanings}."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rejection(settings.Settings):
  """Settings for the rejection of updates, with any aggregator."""

  max_update_norm_ratio: float = settings.setting(
    10.0,
    'An update is rejected if it is not finite, or if its norm exceeds this'
    ' multiple of the norm of the received weights, or of 1 if that is larger:'
    ' training diverged, or the client is malicious.',
    settings.ABOVE_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregation(Rejection):
  """Rejection and aggregation of clients' updates."""

  aggregator: means.Aggregator = settings.choice(
    AGGREGATORS,
    'mean',
    _describe(AGGREGATORS),
    load=means.load_outside,
  )

  @property
  def private_mean(self) -> means.PrivateMean | None:
    """The aggregator if it is the private mean; else None."""
    if isinstance(self.aggregator, means.PrivateMean):
      return self.aggregator
    return None


def choose_without(**refused: str) -> Any:
  """A settings field without the named aggregators, each with the reason."""
  options = {
    name: part for name, part in AGGREGATORS.items() if name not in refused
  }
  return settings.choice(options, 'mean', _describe(options), refused=refused)


def create(
  factory: tff.aggregators.AggregationFactory, value_type: tff.Type
) -> tff.templates.AggregationProcess:
  """Creates an aggregation process; weights, if any, are float32."""
  if isinstance(factory, tff.aggregators.WeightedAggregationFactory):
    return factory.create(value_type, tff.TensorType(np.float32))
  return factory.create(value_type)


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


def zero_unless(condition: tf.Tensor, values: Any) -> Any:
  """The tensors of a structure if `condition`, a bool scalar, else zeros."""
  # Not a product, because zero times infinity is NaN.
  return tf.nest.map_structure(
    lambda each: tf.where(condition, each, tf.zeros_like(each)), values
  )
