# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Convolutions with kernels of two parts, for disjoint learning (B.5).

A kernel is the sum of sigma, which the server trains, and phi, which clients
train, as SemiFL's code has it for FedMatch.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021 (where phi is called psi).
"""

from collections.abc import Sequence
import itertools
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.models import residual

_SIGMA, _PHI = 'sigma', 'phi'


@tf.keras.saving.register_keras_serializable('tff_semifl')
class DecomposedConvolution(tf.keras.layers.Layer):
  """A convolution by the sum of two kernels, without bias.

  Weights, both float32 [size, size, input channels, filters] and trainable:
  `sigma` and `phi`. Each starts as Kaiming normal, independently of the other,
  so that the variance of the sum is twice that of a plain kernel, as in the
  authors' code.

  Input: float [batch, height, width, input channels].
  Output: float [batch, new height, new width, filters].
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
    """Initializes the layer.

    Args:
      filters: Number of output channels.
      size: Height and width of the kernel.
      stride: Stride in both directions.
      seed: Seed of the initial kernels, not negative.
      padding: 'valid' or 'same'.
      **kwargs: Arguments of any Keras layer.
    """
    super().__init__(**kwargs)
    self._filters = filters
    self._size = size
    self._stride = stride
    self._padding = padding
    self._seed = seed

  def build(self, input_shape: tf.TensorShape) -> None:
    """Creates the weights."""
    shape = [self._size, self._size, input_shape[-1], self._filters]
    self.sigma = self.add_weight(
      _SIGMA, shape, initializer=residual.kaiming_normal(self._seed)
    )
    # Layers count their seeds from 0 on: none has a negative one.
    self.phi = self.add_weight(
      _PHI, shape, initializer=residual.kaiming_normal(-1 - self._seed)
    )

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    """Convolves."""
    return tf.nn.conv2d(
      inputs, self.sigma + self.phi, self._stride, self._padding.upper()
    )

  def get_config(self) -> dict[str, Any]:
    """Returns the arguments of the constructor."""
    return super().get_config() | {
      'filters': self._filters,
      'size': self._size,
      'stride': self._stride,
      'padding': self._padding,
      'seed': self._seed,
    }


def create_decomposed_convolution(
  filters: int, size: int, stride: int, padding: str, seed: int
) -> tf.keras.layers.Layer:
  """Creates a convolution with a kernel of two parts, for a residual network.

  A WideResNet with 28 layers, width 2 and 10 classes then has 2,930,314
  trainable parameters.

  Args:
    filters: Number of output channels.
    size: Height and width of the kernel.
    stride: Stride in both directions.
    padding: 'valid' or 'same'.
    seed: Seed of the initial kernels, not negative.

  Returns:
    A layer without bias.
  """
  return DecomposedConvolution(filters, size, stride, seed, padding)


class Parts(NamedTuple):
  """The parts that a model's trainable weights belong to.

  Attributes:
    sigma: For each weight, whether it is one of those that the server trains.
    phi: For each weight, whether it is one of those that clients train.
  """

  sigma: tuple[bool, ...]
  phi: tuple[bool, ...]

  def select_sigma(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns those of a model's trainable weights that are sigma."""
    return list(itertools.compress(trainable, self.sigma))

  def select_phi(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns those of a model's trainable weights that are phi."""
    return list(itertools.compress(trainable, self.phi))

  def with_phi(
    self, trainable: Sequence[tf.Tensor], phi: Sequence[tf.Tensor]
  ) -> tuple[tf.Tensor, ...]:
    """Returns a model's trainable weights with another phi."""
    remaining = iter(phi)
    return tuple(
      next(remaining) if is_phi else weight
      for weight, is_phi in zip(trainable, self.phi, strict=True)
    )


def find_parts(trainable_names: Sequence[str]) -> Parts:
  """Finds the parts of kernels among a model's weights.

  Args:
    trainable_names: `trainable_names` of an `ImageClassifier`.

  Returns:
    The parts.

  Raises:
    ValueError: If no kernel has two parts.
  """
  # Keras appends the number of an output, which is 0.
  kinds = [name.split('/')[-1].split(':')[0] for name in trainable_names]
  parts = Parts(
    sigma=tuple(kind == _SIGMA for kind in kinds),
    phi=tuple(kind == _PHI for kind in kinds),
  )
  if not any(parts.sigma) or sum(parts.sigma) != sum(parts.phi):
    raise ValueError(
      'No kernel of the model has two parts. Build it with'
      ' `create_decomposed_convolution`.'
    )
  return parts
