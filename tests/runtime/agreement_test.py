# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that both runtimes compute the same numbers.

The C++ runtime is TFF's own: where it agrees, the algorithms of TFF mean in
this process what their authors meant.
"""

import collections

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import worker as worker_lib

_NUM_FEATURES = 3
_NUM_CLASSES = 2
_INPUT_SPEC = (
  tf.TensorSpec([None, _NUM_FEATURES]),
  tf.TensorSpec([None], tf.int32),
)


def _model_fn():
  return tff.learning.models.from_keras_model(
    tf.keras.Sequential(
      [
        tf.keras.layers.InputLayer([_NUM_FEATURES]),
        tf.keras.layers.Dense(
          4,
          'tanh',
          kernel_initializer=tf.keras.initializers.GlorotNormal(seed=1),
        ),
        tf.keras.layers.Dropout(0.0),
        tf.keras.layers.Dense(_NUM_CLASSES, kernel_initializer='zeros'),
      ]
    ),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
    input_spec=_INPUT_SPEC,
  )


def _client_datasets(num_clients):
  """Clients with 0, 3, 6, ... examples, in batches of 4."""
  rng = np.random.default_rng(seed=num_clients)
  datasets = []
  for client in range(num_clients):
    images = rng.normal(size=(3 * client, _NUM_FEATURES)).astype(np.float32)
    labels = (images.sum(axis=1) > 0).astype(np.int32)
    datasets.append(
      tf.data.Dataset.from_tensor_slices((images, labels)).batch(4)
    )
  return datasets


def _build_weighted_fed_avg():
  return tff.learning.algorithms.build_weighted_fed_avg(
    _model_fn,
    client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.1),
    server_optimizer_fn=tff.learning.optimizers.build_adam(0.1),
    model_aggregator=tff.learning.robust_aggregator(),
  )


def _build_unweighted_fed_avg():
  return tff.learning.algorithms.build_unweighted_fed_avg(
    _model_fn,
    client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.1, momentum=0.9),
    model_aggregator=tff.aggregators.clipping_factory(
      0.01, tff.aggregators.UnweightedMeanFactory()
    ),
  )


def _to_arrays(structure):
  return [np.asarray(leaf) for leaf in tf.nest.flatten(structure)]


class AgreementTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    worker = worker_lib.Worker()
    cls.addClassCleanup(worker.close)
    cls._contexts = (
      runtime.InProcessContext(),
      runtime.NativeContext(worker),
    )

  def _assert_same_training(self, process, rounds):
    """Runs the process on each context; asserts equal states and metrics."""
    in_process, native = (
      self._train(context, process, rounds) for context in self._contexts
    )
    self.assertEqual(len(in_process), len(native))
    for ours, theirs in zip(in_process, native, strict=True):
      self.assertEqual(ours.dtype, theirs.dtype)
      self.assertAllClose(ours, theirs, rtol=1e-5, atol=1e-6)

  def _train(self, context, process, rounds):
    former = tff.framework.get_context_stack().current
    tff.framework.set_default_context(context)
    self.addCleanup(tff.framework.set_default_context, former)
    state = process.initialize()
    first = _to_arrays(state)
    found = []
    for client_data in rounds:
      output = process.next(state, client_data)
      state = output.state
      found += _to_arrays((output.state, output.metrics))
    # It has learned something, or there is nothing to compare.
    last = _to_arrays(state)
    self.assertTrue(
      any(not np.array_equal(a, b) for a, b in zip(first, last, strict=True))
    )
    return found

  @parameterized.parameters(_build_weighted_fed_avg, _build_unweighted_fed_avg)
  def test_federated_averaging(self, build_process):
    # The first client has no data; then there is no client but that one.
    self._assert_same_training(
      build_process(), [_client_datasets(n) for n in (3, 2, 3, 1)]
    )

  def test_k_means(self):
    process = tff.learning.algorithms.build_fed_kmeans(
      num_clusters=2, data_shape=(2,), random_seed=(1, 2)
    )
    rng = np.random.default_rng(seed=1)
    rounds = [
      [
        tf.data.Dataset.from_tensor_slices(
          rng.normal(center, size=(5, 2)).astype(np.float32)
        )
        for center in (-1, 1, 1)
      ]
      for _ in range(3)
    ]
    self._assert_same_training(process, rounds)

  def test_evaluation(self):
    evaluate = tff.learning.algorithms.build_fed_eval(_model_fn)
    initial = _build_unweighted_fed_avg()
    datasets = _client_datasets(4)
    metrics = []
    for context in self._contexts:
      state = context.invoke(evaluate.initialize, None)
      weights = initial.get_model_weights(
        context.invoke(initial.initialize, None)
      )
      former = tff.framework.get_context_stack().current
      tff.framework.set_default_context(context)
      self.addCleanup(tff.framework.set_default_context, former)
      state = evaluate.set_model_weights(state, weights)
      metrics.append(evaluate.next(state, datasets).metrics)

    ours, theirs = metrics
    # 0 + 3 + 6 + 9 examples.
    train = ours['client_work']['eval']['current_round_metrics']
    self.assertEqual(train['num_examples'], 18)
    tf.nest.map_structure(self.assertAllClose, ours, theirs)

  def test_results_are_of_the_same_python_types(self):
    @tff.tensorflow.computation(tff.TensorType(np.float32, [None]))
    def describe(x):
      return collections.OrderedDict(
        array=x,
        scalar=tf.reduce_sum(x),
        integer=tf.size(x),
        string=tf.constant('a'),
        strings=tf.constant(['a', 'b']),
        truth=tf.constant(True),
        nested=[(x[0],), {'k': x[1]}],
        half=tf.cast(x, tf.bfloat16),
        nothing=(),
      )

    @tff.federated_computation(
      tff.FederatedType(tff.TensorType(np.float32, [None]), tff.CLIENTS)
    )
    def describe_all(x):
      return tff.federated_map(describe, x)

    ours, theirs = (
      context.invoke(describe_all, [np.array([1, 2], np.float32)] * 2)
      for context in self._contexts
    )

    self.assertEqual(_types(ours), _types(theirs))
    self.assertEqual(repr(ours), repr(theirs))


def _types(value):
  """Returns the Python types in a structure."""
  if isinstance(value, dict):
    return type(value), {k: _types(v) for k, v in value.items()}
  if isinstance(value, (list, tuple)):
    return type(value), [_types(v) for v in value]
  return type(value), getattr(value, 'dtype', None)


if __name__ == '__main__':
  tf.test.main()
