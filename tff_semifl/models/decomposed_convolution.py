# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Convolutions with two-part kernels, for disjoint learning (FedMatch).

A kernel is the sum of sigma, which the server trains, and phi, which clients
train, as in SemiFL's code of FedMatch.

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

  The trainable weights `sigma` and `phi` are float32 [size, size, input
  channels, filters]. Each starts as independent Kaiming normal, so that the
  variance of the sum is twice that of a plain kernel, as in the authors' code.
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
      seed: Seed of the initial kernels, not negative.
    """
    super().__init__(**kwargs)
    self._filters = filters
    self._size = size
    self._stride = stride
    self._padding = padding
    self._seed = seed

  def build(self, input_shape: tf.TensorShape) -> None:
    shape = [self._size, self._size, input_shape[-1], self._filters]
    self.sigma = self.add_weight(
      _SIGMA, shape, initializer=residual.kaiming_normal(self._seed)
    )
    # Other layers use seeds from 0 up.
    self.phi = self.add_weight(
      _PHI, shape, initializer=residual.kaiming_normal(-1 - self._seed)
    )

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    """Convolves float [batch, height, width, input channels]."""
    return tf.nn.conv2d(
      inputs, self.sigma + self.phi, self._stride, self._padding.upper()
    )

  def get_config(self) -> dict[str, Any]:
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
  """A `DecomposedConvolution`, as a `residual.Convolution`.

  With it, a WideResNet of depth 28, width 2 and 10 classes has 2,930,314
  trainable parameters.
  """
  return DecomposedConvolution(filters, size, stride, seed, padding)


class Parts(NamedTuple):
  """Which of a model's trainable weights are sigma, and which phi."""

  sigma: tuple[bool, ...]
  phi: tuple[bool, ...]

  def select_sigma(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The trainable weights that the server trains."""
    return list(itertools.compress(trainable, self.sigma))

  def select_phi(self, trainable: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The trainable weights that clients train."""
    return list(itertools.compress(trainable, self.phi))

  def with_phi(
    self, trainable: Sequence[tf.Tensor], phi: Sequence[tf.Tensor]
  ) -> tuple[tf.Tensor, ...]:
    """The trainable weights with phi, the part that clients train, replaced."""
    remaining = iter(phi)
    return tuple(
      next(remaining) if is_phi else weight
      for weight, is_phi in zip(trainable, self.phi, strict=True)
    )


def find_parts(trainable_names: Sequence[str]) -> Parts:
  """Finds the parts among the `trainable_names` of an `ImageClassifier`."""
  # Keras appends ':0', the index of an output.
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
