# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Dropout that is a function of a seed.

Keras's own layers draw from hidden generators. This layer draws with a seed
that is an argument of `train_logits`. `random_draws.dropping_by` passes the
seed to the layers, so that the model keeps a single input.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tff_semifl.randomness import random_draws

_SPATIAL_DROPOUT = (
  tf.keras.layers.SpatialDropout1D,
  tf.keras.layers.SpatialDropout2D,
  tf.keras.layers.SpatialDropout3D,
)


@tf.keras.saving.register_keras_serializable('tff_semifl')
class KeyedDropout(tf.keras.layers.Layer):
  """Dropout with a seed from `random_draws`; the identity in inference.

  Input and output: float [batch, ..., channels].
  """

  def __init__(
    self,
    rate: float,
    *,
    key: int,
    noise_shape: Sequence[int | None] | None = None,
    **kwargs: Any,
  ):
    """Initializes the layer.

    `key` distinguishes the layers of a model, which share a seed. `noise_shape`
    is 1 along dimensions whose values are dropped together, and None along all
    other dimensions: (None, 1, 1, None) drops whole channels.
    """
    super().__init__(**kwargs)
    if not 0 <= rate < 1:
      raise ValueError(f'`rate` must be in [0, 1), found {rate}.')
    self.rate = rate
    self.key = key
    self.noise_shape = noise_shape

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Drops values, and scales up the remaining values, if `training`."""
    seed = random_draws.dropout_seed.get()
    if not training or seed is random_draws.NO_DROPOUT:
      return inputs
    if seed is None:
      raise ValueError(
        f'Layer {self.name!r} draws random numbers in training: `train_logits`'
        ' needs a seed.'
      )
    shape = tf.shape(inputs)
    if self.noise_shape is not None:
      shape = [
        shape[axis] if size is None else size
        for axis, size in enumerate(self.noise_shape)
      ]
    draws = random_draws.uniform(shape, random_draws.fold_in(seed, self.key))
    kept = tf.cast(draws >= self.rate, inputs.dtype)
    return inputs * kept / (1.0 - self.rate)

  def get_config(self) -> dict[str, Any]:
    return {
      **super().get_config(),
      'rate': self.rate,
      'key': self.key,
      'noise_shape': self.noise_shape,
    }


def replace(layer: tf.keras.layers.Dropout, key: int) -> KeyedDropout:
  """The `KeyedDropout` for a dropout layer of Keras; channels come last."""
  noise_shape = layer.noise_shape
  if isinstance(layer, _SPATIAL_DROPOUT):
    noise_shape = (None, *[1] * (layer.input_spec.ndim - 2), None)
  return KeyedDropout(
    layer.rate,
    key=key,
    noise_shape=noise_shape,
    name=layer.name,
    dtype=layer.dtype_policy,
  )
