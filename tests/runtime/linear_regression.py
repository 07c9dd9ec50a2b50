# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A linear regression for TFF's own algorithms, and clients that differ."""

import collections
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_NUM_FEATURES = 3

INPUT_SPEC = (tf.TensorSpec([None, _NUM_FEATURES]), tf.TensorSpec([None, 1]))


def create_functional_model() -> tff.learning.models.FunctionalModel:
  """Creates the model as pure functions."""

  @tf.function
  def predict_on_batch(model_weights, x, training):
    del training
    (kernel, bias), _ = model_weights
    return x @ kernel + bias

  def loss(output, label, sample_weight=None):
    del sample_weight
    return tf.reduce_mean((output - label) ** 2)

  return tff.learning.models.FunctionalModel(
    initial_weights=(
      (np.array([[0.1], [0.2], [0.3]], np.float32), np.zeros([1], np.float32)),
      (),
    ),
    predict_on_batch_fn=predict_on_batch,
    loss_fn=loss,
    metrics_fns=tff.learning.metrics.create_functional_metric_fns(
      lambda: collections.OrderedDict(
        mean_squared_error=tf.keras.metrics.MeanSquaredError(),
        num_examples=tff.learning.metrics.NumExamplesCounter(),
      )
    ),
    input_spec=INPUT_SPEC,
  )


def create_model() -> tff.learning.models.VariableModel:
  """Creates the model with variables, as a `model_fn` of TFF."""
  return tff.learning.models.model_from_functional(
    create_functional_model(), [tf.keras.metrics.MeanSquaredError]
  )


def create_client_datasets(
  sizes: Sequence[int], seed: int
) -> list[tf.data.Dataset]:
  """Creates clients' data, with different inputs and different true weights."""
  rng = np.random.default_rng(seed)
  datasets = []
  for client, size in enumerate(sizes):
    x = rng.normal(client, size=(size, _NUM_FEATURES)).astype(np.float32)
    y = (client + 1) * x.sum(axis=1, keepdims=True)
    datasets.append(tf.data.Dataset.from_tensor_slices((x, y)).batch(2))
  return datasets
