# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Batch normalization without running averages (SemiFL appendix B, A.5).

In training a layer normalizes by the statistics of its batch and nothing is
remembered; in inference it uses statistics that a separate pass over data
computed for the weights as they are (`work/batch_norm_statistics.py`). Keras'
own layer would update moving averages in training, which TFF cannot trace and
which federated averaging would corrupt.

References:
  Diao, Ding, Tarokh. HeteroFL. ICLR 2021 (where the idea is from).
"""

import tensorflow as tf

# PyTorch's, which the reference results were obtained with; Keras has 1e-3.
EPSILON = 1e-5


@tf.keras.saving.register_keras_serializable('tff_semifl')
class StaticBatchNormalization(tf.keras.layers.Layer):
  """Normalizes images by batch statistics, or by given ones in inference.

  Weights, each float32 [channels]: `gamma` and `beta`, trainable; `mean` and
  `variance`, not trainable and never written by the layer itself. They start
  as 0 and 1.

  Input and output: float [batch, height, width, channels].
  """

  def build(self, input_shape: tf.TensorShape) -> None:
    """Creates the weights."""
    shape = [input_shape[-1]]
    self.gamma = self.add_weight('gamma', shape, initializer='ones')
    self.beta = self.add_weight('beta', shape, initializer='zeros')
    self.mean = self.add_weight(
      'mean', shape, initializer='zeros', trainable=False
    )
    self.variance = self.add_weight(
      'variance', shape, initializer='ones', trainable=False
    )

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Normalizes `inputs`; by its own statistics if `training`."""
    # The fused kernel divides by the biased variance, as PyTorch does. The op
    # itself, because `tf.compat.v1.nn.fused_batch_norm` raises the epsilon.
    return tf.raw_ops.FusedBatchNormV3(
      x=inputs,
      scale=self.gamma,
      offset=self.beta,
      mean=[] if training else self.mean,
      variance=[] if training else self.variance,
      epsilon=EPSILON,
      is_training=training,
    )[0]


@tf.keras.saving.register_keras_serializable('tff_semifl')
class BatchMoments(tf.keras.layers.Layer):
  """Computes the moments of a batch, per channel.

  Input: float [batch, height, width, channels]. Output: float32 [3, channels]:
  the number of values (batch * height * width), their mean, and the sum of
  their squared deviations from it. Such triples of several batches can be
  merged exactly.
  """

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns the moments of `inputs`."""
    inputs = tf.cast(inputs, tf.float32)
    mean, variance = tf.nn.moments(inputs, axes=[0, 1, 2])
    count = tf.cast(tf.reduce_prod(tf.shape(inputs)[:3]), tf.float32)
    count = tf.fill(tf.shape(mean), count)
    return tf.stack([count, mean, variance * count])


def is_in(model: tf.keras.Model) -> bool:
  """Returns whether a model has layers of static batch normalization."""
  return any(
    isinstance(layer, StaticBatchNormalization) for layer in model.layers
  )


def create_moments_model(model: tf.keras.Model) -> tf.keras.Model:
  """Creates a model that also returns its normalization layers' moments.

  Args:
    model: A functional Keras model.

  Returns:
    A model that shares its layers and weights, in the same order, with
    `model`. It returns a list: the output of `model`, then for each
    `StaticBatchNormalization`, in the order of the model's weights, the
    moments of that layer's input as `BatchMoments` gives them. To be called
    with `training=True`, so that deeper layers see normalized inputs.

  Raises:
    ValueError: If `model` has no `StaticBatchNormalization`.
  """
  layers = [
    layer
    for layer in model.layers
    if isinstance(layer, StaticBatchNormalization)
  ]
  if not layers:
    raise ValueError('The model has no `StaticBatchNormalization` layer.')
  # Batch statistics belong to single-use layers: `layer.input` insists on it.
  moments = [BatchMoments()(layer.input) for layer in layers]
  return tf.keras.Model(model.input, [model.output, *moments])
