# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that both runtimes compute the same for Keras and of all types.

The C++ runtime is TFF's own: where it agrees, the algorithms of TFF mean in
this process what their authors meant.
"""

import collections

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

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


class AgreementTest(agreement.AgreementTestCase):
  @pytest.mark.slow
  def test_keras_model(self):
    process = tff.learning.algorithms.build_weighted_fed_avg(
      _model_fn,
      client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.1),
      server_optimizer_fn=tff.learning.optimizers.build_adam(0.1),
      model_aggregator=tff.learning.robust_aggregator(),
    )
    # The first client has no data; then there is no client but that one.
    self.assert_agree_in_rounds(
      process, [(_client_datasets(n),) for n in (3, 2, 3, 1)]
    )

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

    self.assert_agree(describe_all, [np.array([1, 2], np.float32)] * 2)


if __name__ == '__main__':
  tf.test.main()
