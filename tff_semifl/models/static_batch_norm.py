# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Batch normalization without running averages (appendix B of SemiFL).

In training, a layer normalizes by the statistics of its batch; in inference, by
the statistics of a separate pass over data (`core.batch_norm_statistics`).
Keras's own layer updates moving averages in training. TFF cannot trace these
updates, and federated averaging would corrupt the averages.

References:
  Diao, Ding, Tarokh. HeteroFL. ICLR 2021 (introduces the idea).
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

import tensorflow as tf

from tff_semifl.models import padded_batches

# PyTorch's default, as in SemiFL's code; Keras has 1e-3.
EPSILON = 1e-5

_COLLECTED: contextvars.ContextVar[Any] = contextvars.ContextVar(
  'moments', default=None
)
_NUM_REAL = contextvars.ContextVar('num_real', default=None)


@tf.keras.saving.register_keras_serializable('tff_semifl')
class StaticBatchNormalization(tf.keras.layers.Layer):
  """Normalizes by batch statistics in training, else by stored statistics.

  Weights are float32 [channels]: `gamma` and `beta`, trainable; `mean` and
  `variance`, not trainable, initially 0 and 1, never written by the layer. A
  frozen layer always normalizes by the stored statistics, as in Keras. Input
  and output are float [batch, ..., channels].
  """

  def __init__(
    self,
    *,
    epsilon: float = EPSILON,
    center: bool = True,
    scale: bool = True,
    **kwargs: Any,
  ):
    super().__init__(**kwargs)
    self.epsilon = epsilon
    self.center = center
    self.scale = scale

  def build(self, input_shape: tf.TensorShape) -> None:
    shape = [input_shape[-1]]
    if self.scale:
      self.gamma = self.add_weight('gamma', shape, initializer='ones')
    if self.center:
      self.beta = self.add_weight('beta', shape, initializer='zeros')
    self.mean = self.add_weight(
      'mean', shape, initializer='zeros', trainable=False
    )
    self.variance = self.add_weight(
      'variance', shape, initializer='ones', trainable=False
    )

  def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
    """Normalizes `inputs`, by batch statistics if `training`."""
    return self._normalize(inputs, by_batch=training and self.trainable)

  # AutoGraph would add a tenth of a second to each start.
  @tf.autograph.experimental.do_not_convert
  def _normalize(self, inputs: tf.Tensor, *, by_batch: bool) -> tf.Tensor:
    # The kernel needs four dimensions.
    images = inputs
    if inputs.shape.rank != 4:
      images = tf.reshape(inputs, [-1, 1, 1, inputs.shape[-1]])
    gamma = self.gamma if self.scale else tf.ones_like(self.mean)
    beta = self.beta if self.center else tf.zeros_like(self.mean)
    num_real = _NUM_REAL.get()
    if by_batch and num_real is not None:
      weight = padded_batches.weigh_rows(inputs, num_real)
      return padded_batches.normalize(inputs, weight, gamma, beta, self.epsilon)
    # The fused kernel divides by the biased variance, as PyTorch does.
    outputs, *_ = tf.raw_ops.FusedBatchNormV3(
      x=images,
      scale=gamma,
      offset=beta,
      mean=[] if by_batch else self.mean,
      variance=[] if by_batch else self.variance,
      epsilon=self.epsilon,
      is_training=by_batch,
    )
    collected = _COLLECTED.get()
    if by_batch and collected is not None:
      collected.append((self, _batch_moments(inputs)))
    if inputs.shape.rank != 4:
      outputs = tf.reshape(outputs, tf.shape(inputs))
    return outputs

  def get_config(self) -> dict[str, Any]:
    return {
      **super().get_config(),
      'epsilon': self.epsilon,
      'center': self.center,
      'scale': self.scale,
    }


def _batch_moments(inputs: tf.Tensor) -> tf.Tensor:
  """The moments of a batch, as `collecting_moments` describes them.

  The fused kernel is less precise, because the kernel adds values one by one:
  for 250 images of 32x32 pixels, mean and variance are 1e-5 too small.
  """
  count = tf.cast(tf.reduce_prod(tf.shape(inputs)[:-1]), tf.float32)
  mean = _sum(inputs) / count
  squares = _sum(tf.math.squared_difference(inputs, mean))
  return tf.stack([tf.fill(tf.shape(mean), count), mean, squares])


def _sum(values: tf.Tensor) -> tf.Tensor:
  """Sums by channel, axis by axis for precision."""
  while values.shape.rank > 1:
    values = tf.reduce_sum(values, axis=-2)
  return values


@contextlib.contextmanager
def with_padding(num_real: tf.Tensor | None) -> Iterator[None]:
  """A context in which layers ignore padding.

  `num_real` is the number of rows before the padding; None without padding.
  """
  token = _NUM_REAL.set(num_real)
  try:
    yield
  finally:
    _NUM_REAL.reset(token)


@contextlib.contextmanager
def collecting_moments() -> (
  Iterator[list[tuple[StaticBatchNormalization, tf.Tensor]]]
):
  """Collects layers and moments of batches normalized in this context.

  Moments are float32 [3, channels]: the number of values (batch * height *
  width), their mean, and the sum of squared deviations.
  """
  collected = []
  token = _COLLECTED.set(collected)
  try:
    yield collected
  finally:
    _COLLECTED.reset(token)
