# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Networks with two-part kernels, for FedMatch's disjoint learning.

A kernel is the sum of sigma, which the server trains, and phi, which clients
train. Two networks have such kernels: the WideResNet in which SemiFL's authors
test FedMatch, and FedMatch's ResNet-9, without biases and normalization.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021 (where phi is called psi);
  `modules/nets.py` and `modules/layers.py` of
  https://github.com/wyjeong/FedMatch
"""

from collections.abc import Sequence
import itertools
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.models import keras_conversion
from tff_semifl.models import wide_resnet

_SIGMA, _PHI = 'sigma', 'phi'
# Initial phi of ResNet-9, as a fraction of sigma.
_PHI_SHARE = 0.2
# Absolute values of phi that count as zero in inference of ResNet-9.
_SPARSITY_THRESHOLD = 1e-5


@tf.keras.saving.register_keras_serializable('tff_semifl')
class DecomposedConvolution(tf.keras.layers.Layer):
  """A convolution without bias, whose kernel is the sum of sigma and phi.

  As in the authors' code, both parts have independent Kaiming normal initial
  values, so that the sum has twice the variance of a plain kernel.
  """

  def __init__(
    self,
    filters: int,
    size: int,
    stride: int,
    seed: int,
    padding: str = 'valid',
    **kwargs: Any,
  ):
    super().__init__(**kwargs)
    self._filters = filters
    self._size = size
    self._stride = stride
    self._padding = padding
    self._seed = seed

  def build(self, input_shape: tf.TensorShape) -> None:
    shape = [self._size, self._size, input_shape[-1], self._filters]
    self.sigma = self.add_weight(
      _SIGMA, shape, initializer=wide_resnet.kaiming_normal(self._seed)
    )
    # A negative seed, because all other seeds are at least 0.
    self.phi = self.add_weight(
      _PHI, shape, initializer=wide_resnet.kaiming_normal(-1 - self._seed)
    )

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    """Convolves float [batch, height, width, input channels]."""
    return tf.nn.conv2d(
      inputs, self.sigma + self.phi, self._stride, self._padding.upper()
    )

  def get_config(self) -> dict[str, Any]:
    names = ('filters', 'size', 'stride', 'padding', 'seed')
    return super().get_config() | {n: getattr(self, f'_{n}') for n in names}


def create_decomposed_wide_resnet(*args: Any, **kwargs: Any) -> tf.keras.Model:
  """Creates a WideResNet with two-part kernels; see `create_wide_resnet`.

  The model has 2,930,314 trainable parameters at depth 28, width 2, 10 classes.
  """
  return keras_conversion.clone(
    wide_resnet.create_wide_resnet(*args, **kwargs), _decompose
  )


def _decompose(layer: tf.keras.layers.Layer) -> tf.keras.layers.Layer:
  """Copies a layer; a convolution gets a two-part kernel."""
  if not isinstance(layer, tf.keras.layers.Conv2D):
    return keras_conversion.copy_layer(layer)
  return DecomposedConvolution(
    layer.filters,
    layer.kernel_size[0],
    layer.strides[0],
    layer.kernel_initializer.seed,
    layer.padding,
  )


class Parts(NamedTuple):
  """Boolean masks of sigma and phi among the trainable weights of a model."""

  sigma: tuple[bool, ...]
  phi: tuple[bool, ...]

  def select_sigma(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Selects sigma, which the server trains."""
    return list(itertools.compress(trainable, self.sigma))

  def select_phi(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Selects phi, which clients train."""
    return list(itertools.compress(trainable, self.phi))

  def with_phi(
    self, trainable: Sequence[tf.Tensor], phi: Sequence[tf.Tensor]
  ) -> tuple[tf.Tensor, ...]:
    """The weights in `trainable`, with phi replaced by the argument `phi`."""
    remaining = iter(phi)
    return tuple(
      next(remaining) if is_phi else weight
      for weight, is_phi in zip(trainable, self.phi, strict=True)
    )


def find_parts(trainable_names: Sequence[str]) -> Parts:
  """Finds sigma and phi by the `trainable_names` of an `ImageClassifier`."""
  # Keras appends ':0', the index of an output.
  kinds = [name.split('/')[-1].split(':')[0] for name in trainable_names]
  parts = Parts(
    sigma=tuple(kind == _SIGMA for kind in kinds),
    phi=tuple(kind == _PHI for kind in kinds),
  )
  if not any(parts.sigma) or sum(parts.sigma) != sum(parts.phi):
    raise ValueError(
      'No kernel of the model has two parts; choose decomposed_wide_resnet or'
      ' fedmatch_resnet.'
    )
  return parts


class SparseLayer(tf.keras.layers.Layer):
  """A layer with the kernel sigma + phi; phi is sparse in inference.

  The initial sigma is truncated normal with variance 1 / number of inputs. The
  initial phi is a fifth of sigma.
  """

  def __init__(self, units: int, seed: int, **kwargs: Any):
    super().__init__(**kwargs)
    self._units = units
    self._seed = seed

  def add_kernel(self, shape: list[int]) -> None:
    """Creates sigma and phi of shape [*shape, units]."""

    def initialize_phi(shape: list[int], dtype: tf.DType) -> tf.Tensor:
      initializer = tf.keras.initializers.VarianceScaling(seed=self._seed)
      return _PHI_SHARE * initializer(shape, dtype)

    shape = [*shape, self._units]
    self.sigma = self.add_weight(
      _SIGMA,
      shape,
      initializer=tf.keras.initializers.VarianceScaling(seed=self._seed),
    )
    self.phi = self.add_weight(_PHI, shape, initializer=initialize_phi)

  def kernel(self, training: bool) -> tf.Tensor:
    """Sigma + phi; in inference, small values of phi are set to 0."""
    if training:
      return self.sigma + self.phi
    is_large = tf.abs(self.phi) > _SPARSITY_THRESHOLD
    return self.sigma + tf.where(is_large, self.phi, tf.zeros_like(self.phi))

  def get_config(self) -> dict[str, Any]:
    return super().get_config() | {'units': self._units, 'seed': self._seed}


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseConvolution(SparseLayer):
  """A padded 3x3 convolution of float [batch, height, width, channels]."""

  def build(self, input_shape: tf.TensorShape) -> None:
    self.add_kernel([3, 3, input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    return tf.nn.conv2d(inputs, self.kernel(training), 1, 'SAME')


@tf.keras.saving.register_keras_serializable('tff_semifl')
class SparseDense(SparseLayer):
  """A linear layer without bias, for float [batch, features]."""

  def build(self, input_shape: tf.TensorShape) -> None:
    self.add_kernel([input_shape[-1]])

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    return tf.matmul(inputs, self.kernel(training))


def create_fedmatch_resnet(
  input_shape: tuple[int, int, int], num_classes: int, *, seed: int = 0
) -> tf.keras.Model:
  """Creates FedMatch's ResNet-9, from raw pixels in 0..255 to logits.

  With 10 classes and three channels, sigma and phi have 6,568,640 parameters
  each.
  """
  seeds = wide_resnet.layer_seeds(seed)

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
  # For 32x32 pixels, this is the 4x4 max pooling of the authors' code.
  x = tf.keras.layers.GlobalMaxPooling2D()(x)
  logits = SparseDense(num_classes, next(seeds))(x)
  return tf.keras.Model(inputs, logits, name='fedmatch_resnet')
