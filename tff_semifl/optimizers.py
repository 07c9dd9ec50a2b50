# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The SGD of SemiFL: clip, then decay, then Nesterov momentum (A.3, D6).

TFF's `build_sgdm` keeps the learning rate out of the momentum buffer, as this
one does, but has neither Nesterov momentum nor weight decay; Keras optimizers
fold the learning rate into the buffer, which is a different method as soon as
the rate changes while the buffer persists.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

LEARNING_RATE_KEY = tff.learning.optimizers.LEARNING_RATE_KEY
_ACCUMULATOR_KEY = 'accumulator'

Weights = Sequence[tf.Tensor]


class _NesterovSGD(tff.learning.optimizers.Optimizer):
  """See `build_nesterov_sgd`."""

  def __init__(
    self,
    learning_rate: float,
    momentum: float,
    weight_decay: float,
    clip_norm: float | None,
  ):
    for name, value in (
      ('learning_rate', learning_rate),
      ('weight_decay', weight_decay),
    ):
      if not value >= 0:
        raise ValueError(f'`{name}` must not be negative, found {value}.')
    if not 0 <= momentum < 1:
      raise ValueError(f'`momentum` must be in [0, 1), found {momentum}.')
    if clip_norm is not None and clip_norm <= 0:
      raise ValueError(f'`clip_norm` must be positive, found {clip_norm}.')
    self._learning_rate = learning_rate
    self._momentum = momentum
    self._weight_decay = weight_decay
    self._clip_norm = clip_norm

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    # A buffer of zeros makes the first accumulated gradient the gradient
    # itself, as PyTorch's lazily created buffer does.
    return collections.OrderedDict(
      [
        (LEARNING_RATE_KEY, tf.constant(self._learning_rate, tf.float32)),
        (_ACCUMULATOR_KEY, [tf.zeros(s.shape, s.dtype) for s in specs]),
      ]
    )

  def next(
    self, state: Mapping[str, Any], weights: Weights, gradients: Weights
  ) -> tuple[Mapping[str, Any], Weights]:
    learning_rate = state[LEARNING_RATE_KEY]
    if self._clip_norm is not None:
      norm = tf.linalg.global_norm(gradients)
      # PyTorch's `clip_grad_norm_`: finite at norm zero, and within 1e-6 of
      # the exact scale elsewhere.
      scale = tf.minimum(1.0, self._clip_norm / (norm + 1e-6))
      gradients = [g * scale for g in gradients]
    gradients = [
      g + self._weight_decay * w
      for g, w in zip(gradients, weights, strict=True)
    ]
    accumulator = [
      self._momentum * a + g
      for a, g in zip(state[_ACCUMULATOR_KEY], gradients, strict=True)
    ]
    weights = [
      w - learning_rate * (g + self._momentum * a)
      for w, g, a in zip(weights, gradients, accumulator, strict=True)
    ]
    new_state = collections.OrderedDict(
      [
        (LEARNING_RATE_KEY, learning_rate),
        (_ACCUMULATOR_KEY, accumulator),
      ]
    )
    return new_state, weights

  def get_hparams(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return collections.OrderedDict(
      [(LEARNING_RATE_KEY, state[LEARNING_RATE_KEY])]
    )

  def set_hparams(
    self, state: Mapping[str, Any], hparams: Mapping[str, Any]
  ) -> Mapping[str, Any]:
    return collections.OrderedDict(
      [(key, hparams.get(key, value)) for key, value in state.items()]
    )


def build_nesterov_sgd(
  learning_rate: float = 0.03,
  *,
  momentum: float = 0.9,
  weight_decay: float = 5e-4,
  clip_norm: float | None = 1.0,
) -> tff.learning.optimizers.Optimizer:
  """Builds SGD with clipping, weight decay and Nesterov momentum.

  One step, for gradients g, weights w, buffer a and learning rate lr:

      g <- g * min(1, clip_norm / (|g| + 1e-6))    |g| over all tensors jointly
      g <- g + weight_decay * w                    on every tensor, biases too
      a <- momentum * a + g
      w <- w - lr * (g + momentum * a)

  With `momentum=0`, `weight_decay=0` and `clip_norm=None` it is plain gradient
  descent. The defaults are the paper's (Table 4) and, for clipping, the
  authors' code (D6).

  Args:
    learning_rate: The rate until `set_hparams` sets another.
    momentum: In [0, 1).
    weight_decay: At least 0, per step, as a multiple of the weights.
    clip_norm: Bound on the joint L2 norm of the gradients, or None for none.

  Raises:
    ValueError: If a number is out of its range.
  """
  return _NesterovSGD(learning_rate, momentum, weight_decay, clip_norm)
