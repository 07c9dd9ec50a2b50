# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's SGD, and Adam: with gradient clipping and weight decay.

TFF's `build_sgdm` has neither Nesterov momentum nor weight decay. Keras
optimizers multiply the learning rate into the momentum buffer, which is a
different method if the rate changes while the buffer is kept.
"""

import abc
import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.training import packing

LEARNING_RATE_KEY = tff.learning.optimizers.LEARNING_RATE_KEY
_ACCUMULATOR_KEY = 'accumulator'

Weights = Sequence[tf.Tensor]


class _Clipping(tff.learning.optimizers.Optimizer):
  """An optimizer that can clip by a given scale."""

  def next(
    self, state: Mapping[str, Any], weights: Weights, gradients: Weights
  ) -> tuple[Mapping[str, Any], Weights]:
    return self.step(state, weights, gradients, self.find_scale(gradients))

  @abc.abstractmethod
  def find_scale(self, gradients: Weights) -> tf.Tensor | None:
    """The factor of clipped gradients; None without clipping."""

  @abc.abstractmethod
  def step(
    self,
    state: Mapping[str, Any],
    weights: Weights,
    gradients: Weights,
    scale: tf.Tensor | None,
  ) -> tuple[Mapping[str, Any], Weights]:
    """Takes a step along `gradients`, times `scale` unless it is None."""


class _NesterovSGD(_Clipping):
  """See `build_nesterov_sgd`."""

  def __init__(
    self,
    learning_rate: float,
    momentum: float,
    weight_decay: float,
    clip_norm: float | None,
    is_decayed: Sequence[bool] | None,
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
    self._is_decayed = is_decayed

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    # As PyTorch's buffer, which starts as the first gradient.
    return collections.OrderedDict(
      [
        (LEARNING_RATE_KEY, tf.constant(self._learning_rate, tf.float32)),
        (_ACCUMULATOR_KEY, [tf.zeros(s.shape, s.dtype) for s in specs]),
      ]
    )

  def find_scale(self, gradients: Weights) -> tf.Tensor | None:
    return _find_scale(gradients, self._clip_norm)

  def step(
    self,
    state: Mapping[str, Any],
    weights: Weights,
    gradients: Weights,
    scale: tf.Tensor | None,
  ) -> tuple[Mapping[str, Any], Weights]:
    learning_rate = state[LEARNING_RATE_KEY]

    def move(g, w, a, is_decayed):
      if scale is not None:
        g *= scale
      # TensorFlow does not always drop a product with 0.
      if is_decayed and self._weight_decay:
        g += self._weight_decay * w
      if not self._momentum:
        return w - learning_rate * g, g
      a = self._momentum * a + g
      return w - learning_rate * (g + self._momentum * a), a

    weights, accumulator = packing.map_elements(
      move,
      gradients,
      weights,
      state[_ACCUMULATOR_KEY],
      kinds=self._is_decayed or [True] * len(weights),
    )
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


def _find_scale(gradients: Weights, clip_norm: float | None) -> Any:
  """See `_Clipping.find_scale`."""
  if clip_norm is None:
    return None
  # As PyTorch's `clip_grad_norm_`, which is finite at norm zero.
  norm = tf.linalg.global_norm(packing.pack(gradients))
  return tf.minimum(1.0, clip_norm / (norm + 1e-6))


class _Wrapping(_Clipping):
  """An optimizer whose state is that of another."""

  _inner: tff.learning.optimizers.Optimizer

  def get_hparams(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return self._inner.get_hparams(state)

  def set_hparams(
    self, state: Mapping[str, Any], hparams: Mapping[str, Any]
  ) -> Mapping[str, Any]:
    return self._inner.set_hparams(state, hparams)


class _Adam(_Wrapping):
  """See `build_adam` and `build_adamw`."""

  def __init__(
    self,
    inner: tff.learning.optimizers.Optimizer,
    gradient_decay: float,
    clip_norm: float | None,
  ):
    self._inner = inner
    self._gradient_decay = gradient_decay
    self._clip_norm = clip_norm

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    return self._inner.initialize(tuple(specs))

  def find_scale(self, gradients: Weights) -> tf.Tensor | None:
    return _find_scale(gradients, self._clip_norm)

  def step(
    self,
    state: Mapping[str, Any],
    weights: Weights,
    gradients: Weights,
    scale: tf.Tensor | None,
  ) -> tuple[Mapping[str, Any], Weights]:
    if scale is not None:
      gradients = [scale * g for g in gradients]
    if self._gradient_decay:
      gradients = [
        g + self._gradient_decay * w
        for g, w in zip(gradients, weights, strict=True)
      ]
    return self._inner.next(state, tuple(weights), tuple(gradients))


class _Restricted(_Wrapping):
  """See `restrict`."""

  def __init__(
    self,
    inner: tff.learning.optimizers.Optimizer,
    is_trained: Sequence[bool],
    mask_gradient: Callable[[tf.Tensor], tf.Tensor],
  ):
    self._inner = inner
    self._is_trained = is_trained
    self._mask_gradient = mask_gradient

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    return self._inner.initialize(self._select(specs))

  def find_scale(self, gradients: Weights) -> tf.Tensor | None:
    inner = self._inner
    return inner.find_scale(gradients) if isinstance(inner, _Clipping) else None

  def step(
    self,
    state: Mapping[str, Any],
    weights: Weights,
    gradients: Weights,
    scale: tf.Tensor | None,
  ) -> tuple[Mapping[str, Any], Weights]:
    arguments = (
      state,
      self._select(weights),
      [self._mask_gradient(g) for g in self._select(gradients)],
    )
    if isinstance(self._inner, _Clipping):
      state, trained = self._inner.step(*arguments, scale)
    else:
      state, trained = self._inner.next(*arguments)
    trained = iter(trained)
    return state, [
      next(trained) if is_trained else weight
      for weight, is_trained in zip(weights, self._is_trained, strict=True)
    ]

  def _select(self, tensors: Sequence[Any]) -> list[Any]:
    return [
      tensor
      for tensor, is_trained in zip(tensors, self._is_trained, strict=True)
      if is_trained
    ]


def restrict(
  optimizer: tff.learning.optimizers.Optimizer,
  is_trained: Sequence[bool],
  mask_gradient: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
) -> tff.learning.optimizers.Optimizer:
  """An optimizer that trains some of the weights only, where `is_trained`.

  The other weights do not decay either. Clipping is nevertheless by the norm of
  the gradients of all weights, as if PyTorch clipped the gradients of a whole
  model and gave the optimizer some of its tensors. `mask_gradient` is applied
  to each gradient of a trained weight after that.
  """
  return _Restricted(optimizer, is_trained, mask_gradient)


def zero_second_half(gradient: tf.Tensor) -> tf.Tensor:
  """Zeroes the gradient of the second half of the outputs, the last axis.

  This reproduces FedMatch in the code of SemiFL's authors. The middle one of an
  odd number is in the second half.
  """
  num_outputs = gradient.shape[-1]
  is_first = tf.range(num_outputs) < num_outputs // 2
  return tf.where(is_first, gradient, 0.0)


def build_nesterov_sgd(
  learning_rate: float = 0.03,
  *,
  momentum: float = 0.9,
  weight_decay: float = 5e-4,
  clip_norm: float | None = 1.0,
  is_decayed: Sequence[bool] | None = None,
) -> tff.learning.optimizers.Optimizer:
  """Builds SGD with clipping, weight decay and Nesterov momentum.

  A step for gradients g, weights w, buffer a (0 at first), learning rate lr:

      g <- g * min(1, clip_norm / (|g| + 1e-6))    |g| over all tensors jointly
      g <- g + weight_decay * w                    on every tensor, biases too
      a <- momentum * a + g
      w <- w - lr * (g + momentum * a)

  The defaults are those of Table 4 of SemiFL; `clip_norm` is in its authors'
  code only. `is_decayed` tells for each weight whether it decays; in FixMatch
  only kernels do.
  """
  return _NesterovSGD(
    learning_rate, momentum, weight_decay, clip_norm, is_decayed
  )


def build_adam(
  learning_rate: float = 0.001,
  *,
  beta_1: float = 0.9,
  weight_decay: float = 0.0,
  clip_norm: float | None = None,
) -> tff.learning.optimizers.Optimizer:
  """Builds TFF's Adam with clipping and decay as in `build_nesterov_sgd`.

  As in PyTorch's Adam, decay is part of the gradient, and thus of the moments.
  """
  return _Adam(
    tff.learning.optimizers.build_adam(learning_rate, beta_1=beta_1),
    weight_decay,
    clip_norm,
  )


def build_adamw(
  learning_rate: float = 0.001,
  *,
  beta_1: float = 0.9,
  weight_decay: float = 0.0,
  clip_norm: float | None = None,
) -> tff.learning.optimizers.Optimizer:
  """Builds TFF's AdamW, whose decay is not part of the gradient, with clipping.

  A step subtracts the learning rate times `weight_decay` times the weights.
  """
  return _Adam(
    tff.learning.optimizers.build_adamw(
      learning_rate, beta_1=beta_1, weight_decay=weight_decay
    ),
    0.0,
    clip_norm,
  )
