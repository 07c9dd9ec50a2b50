# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TFF's aggregators agree on both runtimes.

Those with secure sums have them replaced by sums in the clear, by TFF's own
rewriting: TFF's worker has no others. Noise cannot be compared, since it is
drawn anew in each call; where it can be switched off, it is.
"""

import collections
import types

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

_aggregators = tff.aggregators
_private = tff.aggregators.DifferentiallyPrivateFactory

_VALUE_SPECS = collections.OrderedDict(
  w=tf.TensorSpec([3, 2]), b=tf.TensorSpec([2])
)
_VALUE_TYPE = tff.types.tensorflow_to_type(_VALUE_SPECS)
_WEIGHT_TYPE = tff.TensorType(np.float32)


def _create_values(num_clients, seed):
  """Values of norms about 3, 6, 9, ...: some are clipped, some are not."""
  rng = np.random.default_rng(seed)
  return [
    collections.OrderedDict(
      (name, ((client + 1) * rng.normal(size=spec.shape)).astype(np.float32))
      for name, spec in _VALUE_SPECS.items()
    )
    for client in range(num_clients)
  ]


def _create_rounds(is_weighted):
  rounds = []
  # The estimates of some are NaN once there was no client: this comes last.
  for seed, num_clients in enumerate((3, 1, 0)):
    values = _create_values(num_clients, seed)
    weights = [1.0, 2.5, 4.0][:num_clients]
    rounds.append((values, weights) if is_weighted else (values,))
  return rounds


def _create_process(factory):
  if isinstance(factory, tff.aggregators.WeightedAggregationFactory):
    return factory.create(_VALUE_TYPE, _WEIGHT_TYPE)
  return factory.create(_VALUE_TYPE)


def _in_the_clear(process):
  """Returns the process with sums in place of secure sums."""
  replace = tff.backends.test.replace_secure_intrinsics_with_bodies
  return types.SimpleNamespace(
    initialize=replace(process.initialize), next=replace(process.next)
  )


def _adaptive_norm():
  return _aggregators.PrivateQuantileEstimationProcess.no_noise(5.0, 0.5, 0.3)


def _measure_mean_of_bias(result):
  return collections.OrderedDict(
    mean_of_bias=tff.federated_map(
      tff.tensorflow.computation(lambda value: tf.reduce_mean(value['b'])),
      result,
    )
  )


class TffAggregatorsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    ('mean', _aggregators.MeanFactory()),
    (
      'unweighted_mean_that_takes_weights',
      _aggregators.as_weighted_aggregator(_aggregators.UnweightedMeanFactory()),
    ),
    (
      'adaptive_clipping',
      _aggregators.clipping_factory(
        _adaptive_norm(), _aggregators.SumFactory()
      ),
    ),
    (
      'zeroing',
      _aggregators.zeroing_factory(
        5.0, _aggregators.MeanFactory(), norm_order=2.0
      ),
    ),
    ('robust', tff.learning.robust_aggregator()),
    # More than there are clients: none is left out by chance.
    ('samples', _aggregators.UnweightedReservoirSamplingFactory(5)),
    (
      'measurements',
      _aggregators.add_measurements(
        _aggregators.MeanFactory(), server_measurement_fn=_measure_mean_of_bias
      ),
    ),
    (
      'compression',
      _aggregators.MeanFactory(
        _aggregators.EncodedSumFactory.quantize_above_threshold(
          quantization_bits=4, threshold=1, stochastic=False
        )
      ),
    ),
    (
      'adaptive_privacy_without_noise',
      _private.gaussian_adaptive(0.0, 3, initial_l2_norm_clip=5.0),
    ),
    # Of TFF's noise, only this kind has a seed.
    (
      'private_tree',
      _private.tree_aggregation(0.5, 3.0, 5.0, _VALUE_SPECS, noise_seed=1),
    ),
  )
  @pytest.mark.slow
  def test_same(self, factory):
    is_weighted = isinstance(factory, _aggregators.WeightedAggregationFactory)
    self.assert_agree_in_rounds(
      _create_process(factory), _create_rounds(is_weighted)
    )

  @parameterized.named_parameters(
    ('sum', _aggregators.SecureSumFactory(3.0, -3.0)),
    ('learning', tff.learning.secure_aggregator(zeroing=False)),
  )
  @pytest.mark.slow
  def test_secure(self, factory):
    is_weighted = isinstance(factory, _aggregators.WeightedAggregationFactory)
    self.assert_agree_in_rounds(
      _in_the_clear(_create_process(factory)), _create_rounds(is_weighted)
    )

  def test_secure_modular_sum(self):
    factory = _aggregators.SecureModularSumFactory(8, symmetric_range=True)
    process = factory.create(tff.TensorType(np.int32, [2]))
    outputs = self.assert_agree_in_rounds(
      _in_the_clear(process), [([[1, 2], [5, -4]],), ([[7, 3]],), ([],)]
    )
    # 1 + 5 and 2 - 4; modulo 15, from -7 to 7.
    self.assertAllEqual(outputs[1]['result'], [6, -2])


if __name__ == '__main__':
  tf.test.main()
