# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The ResNet-9 of FedMatch, each kernel of two parts (D.6).

It has neither biases nor normalization, so that all its weights are kernels.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021; `modules/nets.py` and
  `modules/layers.py` of https://github.com/wyjeong/FedMatch
"""

from typing import Any

import tensorflow as tf

from tff_semifl.models import residual

# Initial phi as a share of sigma.
_PHI_SHARE = 0.2
# In inference, values of phi up to this size count as zero.
_SPARSITY_THRESHOLD = 1e-5


class _SparseLayer(tf.keras.layers.Layer):
  """A layer with one kernel, sigma + phi, of which phi is to be sparse.

  Both start from one draw: truncated normal with variance 1 / number of inputs,
  and phi as a fifth of it. In inference small values of phi count as zero.
  """

  def __init__(self, units: int, seed: int, **kwargs: Any):
    """Initializes the layer.

    Args:
      units: Number of outputs.
      seed: Seed of the initial kernel.
      **kwargs: Arguments of any Keras layer.
    """
    super().__init__(**kwargs)
    self._units = units
    self._seed = seed

  def add_kernel(self, shape: list[int]) -> None:
    """Creates the weights.

    Args:
      shape: The kernel's shape without its last axis, the outputs.
    """

    def initialize(shape: list[int], dtype: tf.DType) -> tf.Tensor:
      initializer = tf.keras.initializers.VarianceScaling(seed=self._seed)
      return initializer(shape, dtype)

    def initialize_phi(shape: list[int], dtype: tf.DType) -> tf.Tensor:
      return _PHI_SHARE * initialize(shape, dtype)

    shape = [*shape, self._units]
    self.sigma = self.add_weight('sigma', shape, initializer=initialize)
    self.phi = self.add_weight('phi', shape, initializer=initialize_phi)

  def kernel(self, training: bool) -> tf.Tensor:
    """Returns the sum of the parts."""
    if training:
      return self.sigma + self.phi
    is_large = tf.abs(self.phi) > _SPARSITY_THRESHOLD
    return self.sigma + tf.where(is_large, self.phi, tf.zeros_like(self.phi))

  def get_config(self) -> dict[str, Any]:
    """Returns the arguments of the constructor."""
    return super().get_config() | {'units': self._units, 'seed': self._seed}


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseConvolution(_SparseLayer):
  """A convolution of 3x3 that keeps height and width.

  Input: float [batch, height, width, channels].
  Output: float [batch, height, width, units].
  """

  def build(self, input_shape: tf.TensorShape) -> None:
    """Creates the weights."""
    self.add_kernel([3, 3, input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Convolves."""
    return tf.nn.conv2d(inputs, self.kernel(training), 1, 'SAME')


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseDense(_SparseLayer):
  """A linear layer.

  Input: float [batch, features]. Output: float [batch, units].
  """

  def build(self, input_shape: tf.TensorShape) -> None:
    """Creates the weights."""
    self.add_kernel([input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Multiplies."""
    return tf.matmul(inputs, self.kernel(training))


def create_fedmatch_resnet(
  input_shape: tuple[int, int, int], num_classes: int, *, seed: int = 0
) -> tf.keras.Model:
  """Creates FedMatch's network from raw pixels to logits.

  Pixels are divided by 255 and nothing else.

  Args:
    input_shape: Height, width and channels of an image; at least 8 pixels.
    num_classes: Number of logits.
    seed: The run's seed.

  Returns:
    A model from float32 [batch, height, width, channels] in 0..255 to float32
    [batch, num_classes]. With 10 classes and three channels sigma has 6,568,640
    parameters, and phi has as many.
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
  # Of images of 32x32 these are the 4x4 pixels that the authors pool.
  x = tf.keras.layers.GlobalMaxPooling2D()(x)
  logits = SparseDense(num_classes, next(seeds))(x)
  return tf.keras.Model(inputs, logits, name='fedmatch_resnet')
