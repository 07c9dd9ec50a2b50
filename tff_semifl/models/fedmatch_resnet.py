# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch's ResNet-9, whose kernels have two parts.

It has neither biases nor normalization.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021; `modules/nets.py` and
  `modules/layers.py` of https://github.com/wyjeong/FedMatch
"""

from typing import Any

import tensorflow as tf

from tff_semifl.models import residual

# Initial phi as a fraction of sigma.
_PHI_SHARE = 0.2
# Values of phi up to this size count as zero in inference.
_SPARSITY_THRESHOLD = 1e-5


class _SparseLayer(tf.keras.layers.Layer):
  """A layer with one kernel, sigma + phi, with sparse phi in inference.

  Both parts start from one draw, truncated normal with variance 1 / number of
  inputs, phi as a fifth of it.
  """

  def __init__(self, units: int, seed: int, **kwargs: Any):
    """Initializes the layer."""
    super().__init__(**kwargs)
    self._units = units
    self._seed = seed

  def add_kernel(self, shape: list[int]) -> None:
    """Creates the weights; `shape` leaves out the last axis, the outputs."""

    def initialize(shape: list[int], dtype: tf.DType) -> tf.Tensor:
      initializer = tf.keras.initializers.VarianceScaling(seed=self._seed)
      return initializer(shape, dtype)

    def initialize_phi(shape: list[int], dtype: tf.DType) -> tf.Tensor:
      return _PHI_SHARE * initialize(shape, dtype)

    shape = [*shape, self._units]
    self.sigma = self.add_weight('sigma', shape, initializer=initialize)
    self.phi = self.add_weight('phi', shape, initializer=initialize_phi)

  def kernel(self, training: bool) -> tf.Tensor:
    """The sum of the parts."""
    if training:
      return self.sigma + self.phi
    is_large = tf.abs(self.phi) > _SPARSITY_THRESHOLD
    return self.sigma + tf.where(is_large, self.phi, tf.zeros_like(self.phi))

  def get_config(self) -> dict[str, Any]:
    return super().get_config() | {'units': self._units, 'seed': self._seed}


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseConvolution(_SparseLayer):
  """A 3x3 convolution of float [batch, height, width, channels].

  Height and width stay the same.
  """

  def build(self, input_shape: tf.TensorShape) -> None:
    self.add_kernel([3, 3, input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """The convolution, float [batch, height, width, units]."""
    return tf.nn.conv2d(inputs, self.kernel(training), 1, 'SAME')


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseDense(_SparseLayer):
  """A linear layer without bias, of float [batch, features]."""

  def build(self, input_shape: tf.TensorShape) -> None:
    self.add_kernel([input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """The product, float [batch, units]."""
    return tf.matmul(inputs, self.kernel(training))


def create_fedmatch_resnet(
  input_shape: tuple[int, int, int], num_classes: int, *, seed: int = 0
) -> tf.keras.Model:
  """Creates FedMatch's network from raw pixels, divided by 255, to logits.

  With 10 classes and three channels sigma and phi have 6,568,640 parameters
  each.
  """
  seeds = residual.layer_seeds(seed)

  def convolve(x: tf.Tensor, filters: int, *, pool: bool = False) -> tf.Tensor:
    x = SparseConvolution(filters, next(seeds))(x)
    x = tf.keras.layers.ReLU()(x)
    return tf.keras.layers.MaxPooling2D(2)(x) if pool else x

  inputs = tf.keras.Input(input_shape)
  x = tf.keras.layers.Rescaling(1 / 255)(inputs)
  x = convolve(x, 64)
  x = convolve(x, 128, pool=True)
  x = tf.keras.layers.Add()([x, convolve(convolve(x, 128), 128)])
  x = convolve(x, 256, pool=True)
  x = convolve(x, 512, pool=True)
  x = tf.keras.layers.Add()([x, convolve(convolve(x, 512), 512)])
  # For 32x32 pixels, the 4x4 maximum of the authors' code.
  x = tf.keras.layers.GlobalMaxPooling2D()(x)
  logits = SparseDense(num_classes, next(seeds))(x)
  return tf.keras.Model(inputs, logits, name='fedmatch_resnet')
