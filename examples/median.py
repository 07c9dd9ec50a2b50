# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The coordinate-wise median of clients' updates, in place of their mean.

  python -m launch.train semifl --aggregator=examples.median:MEDIAN

References:
  Yin, Chen, Ramchandran, Bartlett. Byzantine-robust distributed learning:
  Towards optimal statistical rates. ICML 2018.
"""

import tensorflow as tf
import tensorflow_federated as tff


class MedianFactory(tff.aggregators.UnweightedAggregationFactory):
  """Aggregates the updates of a cohort by their coordinate-wise median."""

  def create(self, value_type: tff.Type) -> tff.templates.AggregationProcess:
    """Creates the aggregation of updates, which are sequences of tensors."""

    @tff.tensorflow.computation
    def nobody():
      # A placeholder, because the number of updates must not be fixed.
      return tuple(
        tf.compat.v1.placeholder_with_default(
          tf.zeros([0, *part.shape], part.dtype), [None, *part.shape]
        )
        for part in value_type
      )

    all_type = nobody.type_signature.result

    @tff.tensorflow.computation(all_type, value_type)
    def add(updates, update):
      return _concatenate(updates, [each[tf.newaxis] for each in update])

    @tff.tensorflow.computation(all_type, all_type)
    def merge(first, second):
      return _concatenate(first, second)

    @tff.tensorflow.computation(all_type)
    def compute_median(updates):
      return tuple(map(median, updates))

    @tff.federated_computation(
      tff.FederatedType((), tff.SERVER),
      tff.FederatedType(value_type, tff.CLIENTS),
    )
    def next_fn(state, updates):
      result = tff.federated_aggregate(
        updates, nobody(), add, merge, compute_median
      )
      return tff.templates.MeasuredProcessOutput(
        state, result, tff.federated_value((), tff.SERVER)
      )

    @tff.federated_computation
    def initialize_fn():
      return tff.federated_value((), tff.SERVER)

    return tff.templates.AggregationProcess(initialize_fn, next_fn)


def median(values: tf.Tensor) -> tf.Tensor:
  """The median over the first dimension; zeros without values."""
  number = tf.shape(values)[0]
  if_none = tf.zeros([tf.maximum(1 - number, 0), *values.shape[1:]])
  in_order = tf.concat([tf.sort(values, axis=0), if_none], 0)
  last = tf.maximum(number - 1, 0)
  return (in_order[last // 2] + in_order[(last + 1) // 2]) / 2


def _concatenate(first, second):
  return tuple(tf.concat(pair, 0) for pair in zip(first, second, strict=True))


MEDIAN = MedianFactory()
