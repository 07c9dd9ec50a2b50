# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's own learning algorithms give the same on both runtimes."""

import collections
import types

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


@tf.function
def _evaluate(model, dataset):
  loss, num_batches = dataset.batch(2).reduce(
    (0.0, 0.0),
    lambda sums, batch: (
      sums[0] + model.forward_pass(batch, training=False).loss,
      sums[1] + 1.0,
    ),
  )
  return collections.OrderedDict(loss=loss, num_batches=num_batches)


def _build_fine_tuning():
  """Returns a strategy that trains the model on a client's own data."""

  @tf.function
  def fine_tune(model, train_data, test_data, context=None):
    del context
    for batch in train_data.batch(2):
      with tf.GradientTape() as tape:
        loss = model.forward_pass(batch).loss
      gradients = tape.gradient(loss, model.trainable_variables)
      for weight, gradient in zip(
        model.trainable_variables, gradients, strict=True
      ):
        weight.assign_sub(0.02 * gradient)
    return _evaluate(model, test_data)

  return fine_tune


@pytest.mark.slow
class TffAlgorithmsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    (
      'weighted_fed_avg',
      lambda: _algorithms.build_weighted_fed_avg(
        _functional_model(), _SGD, _optimizers.build_adam(0.1)
      ),
    ),
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
      'unweighted_fed_prox',
      lambda: _algorithms.build_unweighted_fed_prox(
        _model_fn, 0.5, _SGD, _optimizers.build_adagrad(0.1)
      ),
    ),
    (
      'fed_sgd',
      lambda: _algorithms.build_fed_sgd(
        _functional_model(), _optimizers.build_adamw(0.1)
      ),
    ),
    (
      'fed_sgd_with_variables',
      lambda: _algorithms.build_fed_sgd(_model_fn, _SGD),
    ),
    (
      'weighted_mime_lite',
      lambda: _algorithms.build_weighted_mime_lite(
        _functional_model(), _optimizers.build_adagrad(0.05)
      ),
    ),
    (
      'unweighted_mime_lite',
      lambda: _algorithms.build_unweighted_mime_lite(
        _model_fn, _optimizers.build_sgdm(0.02, momentum=0.9)
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
      'scheduled_optimizer',
      lambda: _algorithms.build_unweighted_fed_avg(
        _functional_model(),
        _optimizers.schedule_learning_rate(
          _SGD, lambda step: 0.02 / tf.cast(step + 1, tf.float32)
        ),
        _optimizers.build_adam(0.1),
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

  def test_metrics_that_are_summed_securely(self):
    def build(metrics_aggregator):
      return _algorithms.build_weighted_fed_avg(
        _model_fn, _SGD, metrics_aggregator=metrics_aggregator
      )

    process = build(tff.learning.metrics.secure_sum_then_finalize)
    replace = tff.backends.test.replace_secure_intrinsics_with_bodies
    rounds = _create_rounds()[:2]
    _, first, _ = self.assert_agree_in_rounds(
      types.SimpleNamespace(
        initialize=process.initialize, next=replace(process.next)
      ),
      rounds,
      # Sums are of integers, each rounded up or down by the last digit.
      rtol=1e-3,
    )
    plain = build(tff.learning.metrics.sum_then_finalize)
    with self.use(self.in_process):
      expected = plain.next(plain.initialize(), *rounds[0]).metrics
    self.assertAllClose(
      first['metrics']['client_work']['train']['mean_squared_error'],
      expected['client_work']['train']['mean_squared_error'],
      rtol=1e-3,
    )

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

  def test_k_means(self):
    rng = np.random.default_rng(seed=1)
    rounds = [
      (
        [
          tf.data.Dataset.from_tensor_slices(
            rng.normal(center, size=(size, 2)).astype(np.float32)
          )
          for center, size in enumerate(sizes)
        ],
      )
      for sizes in _ROUNDS
    ]
    outputs = self.assert_agree_in_rounds(
      _algorithms.build_fed_kmeans(2, (2,), random_seed=(1, 2)), rounds
    )
    # 3 + 0 + 5 + 4 points, and one to begin with per cluster.
    self.assertEqual(outputs[-1].state.finalizer.sum(), 12 + 2)

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
    # What was summed up over all rounds outlasts one without a client.
    metrics = last.metrics['client_work']['eval']['total_rounds_metrics']
    self.assertGreater(metrics['mean_squared_error'], 0.1)

  def test_personalization(self):
    datasets = [
      dataset.unbatch()
      for dataset in linear_regression.create_client_datasets([3, 2, 4], 0)
    ]
    evaluate = _algorithms.build_personalization_eval_computation(
      _model_fn,
      collections.OrderedDict(fine_tuning=_build_fine_tuning),
      _evaluate,
    )
    weights = _functional_model().initial_weights
    metrics = self.assert_agree(
      evaluate,
      tff.learning.models.ModelWeights(*weights),
      [
        collections.OrderedDict(train_data=dataset, test_data=dataset)
        for dataset in datasets
      ],
    )
    # 3, 2 and 4 examples in batches of 2.
    self.assertAllEqual(metrics['fine_tuning']['num_batches'], [2, 1, 2])
    self.assertAllLess(
      metrics['fine_tuning']['loss'] / metrics['baseline_metrics']['loss'], 0.95
    )


if __name__ == '__main__':
  tf.test.main()
