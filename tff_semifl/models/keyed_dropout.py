# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Dropout that is a function of a seed.

Keras' own layers draw from hidden generators. This one draws with the seed of
the pass that is being traced, which is handed to `train_logits` with weights
and images (see `functional`); a model has one input all the same, so that it
is evaluated and exported as any other.
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

import tensorflow as tf

from tff_semifl import random_seeds

_SEED = contextvars.ContextVar('seed', default=None)


@contextlib.contextmanager
def seeded(seed: tf.Tensor) -> Iterator[None]:
  """Makes the dropout layers that are called in this context draw with a seed.

  Args:
    seed: int32 [2], a stateless seed.
  """
  token = _SEED.set(seed)
  try:
    yield
  finally:
    _SEED.reset(token)


@tf.keras.saving.register_keras_serializable('tff_semifl')
class KeyedDropout(tf.keras.layers.Layer):
  """Sets some of its input to zero in training, and scales up the rest.

  Input and output: float [batch, ..., channels]. In inference it is the
  identity.
  """

  def __init__(
    self, rate: float, *, key: int, whole_channels: bool = False, **kwargs: Any
  ):
    """Initializes the layer.

    Args:
      rate: Probability that a value is dropped, in [0, 1).
      key: Tells the layers of a model apart, which draw with one seed.
      whole_channels: Whether a channel of an image is dropped as a whole.
      **kwargs: Arguments of any Keras layer.

    Raises:
      ValueError: If `rate` is out of its range.
    """
    super().__init__(**kwargs)
    if not 0 <= rate < 1:
      raise ValueError(f'`rate` must be in [0, 1), found {rate}.')
    self.rate = rate
    self.key = key
    self.whole_channels = whole_channels

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Returns `inputs`, some of them dropped if `training`."""
    if not training:
      return inputs
    seed = _SEED.get()
    if seed is None:
      raise ValueError(
        f'Layer {self.name!r} draws random numbers in training: `train_logits`'
        ' needs a seed.'
      )
    shape = tf.shape(inputs)
    if self.whole_channels:
      between = tf.ones([inputs.shape.rank - 2], tf.int32)
      shape = tf.concat([shape[:1], between, shape[-1:]], axis=0)
    draws = tf.random.stateless_uniform(
      shape, random_seeds.fold_in(seed, self.key)
    )
    kept = tf.cast(draws >= self.rate, inputs.dtype)
    return inputs * kept / (1.0 - self.rate)

  def get_config(self) -> dict[str, Any]:
    """Returns the arguments of the constructor."""
    return {
      **super().get_config(),
      'rate': self.rate,
      'key': self.key,
      'whole_channels': self.whole_channels,
    }
