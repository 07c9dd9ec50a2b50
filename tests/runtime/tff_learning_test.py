# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TFF's aggregators and algorithms give the same results as in TFF.

Secure sums are replaced by sums in the clear, by TFF's own rewriting, because
TFF's worker has no secure sums. Noise without a seed cannot be compared, and is
switched off.
"""

import collections
import types

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement
from tests.runtime import linear_regression

_aggregators = tff.aggregators
_algorithms = tff.learning.algorithms
_optimizers = tff.learning.optimizers
_functional_model = linear_regression.create_functional_model
_SGD = _optimizers.build_sgdm(0.02)
_VALUE_SPECS = collections.OrderedDict(
  w=tf.TensorSpec([3, 2]), b=tf.TensorSpec([2])
)
# The number of examples of each client, in each round: one client has none, and
# the last round has no client.
_ROUNDS = ((3, 0, 5), (4,), ())


def _create_values(num_clients, seed):
  """Values of norms about 3, 6, 9, ...: some are clipped, others are not."""
  rng = np.random.default_rng(seed)
  return [
    collections.OrderedDict(
      (name, ((client + 1) * rng.normal(size=spec.shape)).astype(np.float32))
      for name, spec in _VALUE_SPECS.items()
    )
    for client in range(num_clients)
  ]


def _in_the_clear(process):
  """A process with sums in place of secure sums."""
  replace = tff.backends.test.replace_secure_intrinsics_with_bodies
  return types.SimpleNamespace(
    initialize=replace(process.initialize), next=replace(process.next)
  )


def _create_rounds():
  return [
    (linear_regression.create_client_datasets(sizes, seed),)
    for seed, sizes in enumerate(_ROUNDS)
  ]


class TffAggregatorsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    ('mean', _aggregators.MeanFactory()),
    ('robust', tff.learning.robust_aggregator()),
    ('secure', tff.learning.secure_aggregator(zeroing=False)),
    (
      'compression',
      _aggregators.MeanFactory(
        _aggregators.EncodedSumFactory.quantize_above_threshold(
          quantization_bits=4, threshold=1, stochastic=False
        )
      ),
    ),
    # Of TFF's noise, only this kind has a seed.
    (
      'private_tree',
      _aggregators.DifferentiallyPrivateFactory.tree_aggregation(
        0.5, 3.0, 5.0, _VALUE_SPECS, noise_seed=1
      ),
    ),
  )
  @pytest.mark.slow
  def test_same(self, factory):
    value_type = tff.types.tensorflow_to_type(_VALUE_SPECS)
    is_weighted = isinstance(factory, _aggregators.WeightedAggregationFactory)
    weight_types = [tff.TensorType(np.float32)] * is_weighted
    process = _in_the_clear(factory.create(value_type, *weight_types))
    rounds = []
    # Some estimates are NaN after a round without clients, so that this comes
    # last.
    for seed, num_clients in enumerate((3, 1, 0)):
      weights = [[1.0, 2.5, 4.0][:num_clients]] * is_weighted
      rounds.append((_create_values(num_clients, seed), *weights))
    self.assert_agree_in_rounds(process, rounds)

  def test_secure_modular_sum(self):
    factory = _aggregators.SecureModularSumFactory(8, symmetric_range=True)
    process = factory.create(tff.TensorType(np.int32, [2]))
    outputs = self.assert_agree_in_rounds(
      _in_the_clear(process), [([[1, 2], [5, -4]],), ([[7, 3]],), ([],)]
    )
    # 1 + 5 and 2 - 4; modulo 15, from -7 to 7.
    self.assertAllEqual(outputs[1]['result'], [6, -2])


@pytest.mark.slow
class TffAlgorithmsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    (
      'weighted_fed_avg_that_iterates',
      lambda: _algorithms.build_weighted_fed_avg(
        linear_regression.create_model,
        _optimizers.build_adam(0.1),
        loop_implementation=tff.learning.LoopImplementation.DATASET_ITERATOR,
      ),
    ),
    (
      'weighted_fed_prox',
      lambda: _algorithms.build_weighted_fed_prox(
        _functional_model(), 0.5, _SGD, _optimizers.build_rmsprop(0.1)
      ),
    ),
    (
      'mime_lite_with_schedule',
      lambda: _algorithms.build_mime_lite_with_optimizer_schedule(
        _functional_model(),
        lambda round_number: 0.05 / tf.cast(round_number + 1, tf.float32),
        _SGD,
      ),
    ),
  )
  def test_training(self, build):
    outputs = self.assert_agree_in_rounds(build(), _create_rounds())
    # Weights have changed in the rounds with data, and not in the last round.
    states = [outputs[0], *(output.state for output in outputs[1:])]
    weights = [
      np.concatenate([w.ravel() for w in state.global_model_weights.trainable])
      for state in states
    ]
    self.assertAllEqual(weights[-1], weights[-2])
    for before, after in zip(weights[:-2], weights[1:-1], strict=True):
      self.assertAllInRange(np.abs(after - before), 1e-4, 5.0)

  def test_evaluation(self):
    process = _algorithms.build_fed_eval(_functional_model())
    *_, last = self.assert_agree_in_rounds(process, _create_rounds())
    # Sums over all rounds are kept in a round without clients.
    metrics = last.metrics['client_work']['eval']['total_rounds_metrics']
    self.assertGreater(metrics['mean_squared_error'], 0.1)


if __name__ == '__main__':
  tf.test.main()
