# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TFF's learning algorithms agree on both runtimes."""

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement
from tests.runtime import linear_regression

_algorithms = tff.learning.algorithms
_optimizers = tff.learning.optimizers
_functional_model = linear_regression.create_functional_model
_model_fn = linear_regression.create_model
_SGD = _optimizers.build_sgdm(0.02)

# Examples of each client, in each round: one client has none, at last there is
# no client.
_ROUNDS = ((3, 0, 5), (4,), ())


def _create_rounds():
  return [
    (linear_regression.create_client_datasets(sizes, seed),)
    for seed, sizes in enumerate(_ROUNDS)
  ]


def _create_reconstruction_model():
  """Clients share the kernel; each finds its bias anew in each round."""
  inputs = tf.keras.Input([3])
  kernel = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer='zeros')
  bias = tf.keras.layers.Dense(1, kernel_initializer='ones')
  return tff.learning.models.ReconstructionModel.from_keras_model_and_layers(
    keras_model=tf.keras.Model(inputs, bias(kernel(inputs))),
    global_layers=[kernel],
    local_layers=[bias],
    input_spec=linear_regression.INPUT_SPEC,
  )


@pytest.mark.slow
class TffAlgorithmsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    (
      'weighted_fed_avg_that_iterates',
      lambda: _algorithms.build_weighted_fed_avg(
        _model_fn,
        _optimizers.build_adam(0.1),
        loop_implementation=tff.learning.LoopImplementation.DATASET_ITERATOR,
      ),
    ),
    (
      'weighted_fed_avg_with_schedule',
      lambda: _algorithms.build_weighted_fed_avg_with_optimizer_schedule(
        _functional_model(),
        lambda round_number: 0.05 / tf.cast(round_number + 1, tf.float32),
        _optimizers.build_sgdm,
      ),
    ),
    (
      'unweighted_fed_avg',
      lambda: _algorithms.build_unweighted_fed_avg(
        _model_fn, _SGD, _optimizers.build_yogi(0.1)
      ),
    ),
    (
      'weighted_fed_prox',
      lambda: _algorithms.build_weighted_fed_prox(
        _functional_model(), 0.5, _SGD, _optimizers.build_rmsprop(0.1)
      ),
    ),
    (
      'fed_sgd',
      lambda: _algorithms.build_fed_sgd(
        _functional_model(), _optimizers.build_adamw(0.1)
      ),
    ),
    (
      'weighted_mime_lite',
      lambda: _algorithms.build_weighted_mime_lite(
        _functional_model(), _optimizers.build_adagrad(0.05)
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
    (
      'metrics_of_each_client',
      # More than there are clients: none is left out by chance.
      lambda: _algorithms.build_weighted_fed_avg(
        _functional_model(),
        _SGD,
        metrics_aggregator=tff.learning.metrics.finalize_then_sample,
      ),
    ),
  )
  def test_supervised_learning(self, build):
    outputs = self.assert_agree_in_rounds(build(), _create_rounds())
    self._assert_trained(outputs)

  def _assert_trained(self, outputs):
    """Weights have changed in the rounds with data, and not in the last."""
    states = [outputs[0], *(output.state for output in outputs[1:])]
    weights = [
      np.concatenate([w.ravel() for w in state.global_model_weights.trainable])
      for state in states
    ]
    self.assertAllEqual(weights[-1], weights[-2])
    for before, after in zip(weights[:-2], weights[1:-1], strict=True):
      self.assertAllInRange(np.abs(after - before), 1e-4, 5.0)

  def test_reconstruction(self):
    process = _algorithms.build_fed_recon(
      _create_reconstruction_model,
      loss_fn=tf.keras.losses.MeanSquaredError,
      metrics_fn=lambda: [tf.keras.metrics.MeanSquaredError()],
      client_optimizer_fn=_SGD,
      reconstruction_optimizer_fn=_SGD,
    )
    outputs = self.assert_agree_in_rounds(process, _create_rounds())
    self._assert_trained(outputs)

  @parameterized.named_parameters(
    ('of_functions', lambda: _algorithms.build_fed_eval(_functional_model())),
    (
      'of_reconstruction',
      lambda: _algorithms.build_fed_recon_eval(
        _create_reconstruction_model,
        loss_fn=tf.keras.losses.MeanSquaredError,
        metrics_fn=lambda: [tf.keras.metrics.MeanSquaredError()],
        reconstruction_optimizer_fn=_SGD,
      ),
    ),
  )
  def test_evaluation(self, build):
    *_, last = self.assert_agree_in_rounds(build(), _create_rounds())
    # Sums over all rounds survive a round without clients.
    metrics = last.metrics['client_work']['eval']['total_rounds_metrics']
    self.assertGreater(metrics['mean_squared_error'], 0.1)


if __name__ == '__main__':
  tf.test.main()
