# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's SGD and AdamW, with gradient clipping and weight decay.

TFF's `build_sgdm` has neither Nesterov momentum nor weight decay. Keras
optimizers multiply the learning rate into the momentum buffer, which is a
different method if the rate changes while the buffer is kept.

Most weights of a model are small vectors, and operations on small tensors take
mostly launch time. Therefore small tensors are concatenated to one vector.
"""

import collections
from collections.abc import Callable, Hashable, Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

LEARNING_RATE_KEY = tff.learning.optimizers.LEARNING_RATE_KEY
_ACCUMULATOR_KEY = 'accumulator'

Optimizer = tff.learning.optimizers.Optimizer
Weights = Sequence[tf.Tensor]

# Tensors of at most this number of elements are concatenated. On a CPU, copies
# of larger tensors take more time than they save. On a GPU, an operation on a
# tensor of this size takes about as long as its launch.
_LARGEST_ON_CPU = 2**12
_LARGEST_ON_GPU = 2**20


def with_rate(optimizer: Optimizer, state: Any, rate: tf.Tensor) -> Any:
  """An optimizer's state with another learning rate."""
  return optimizer.set_hparams(state, {LEARNING_RATE_KEY: rate})


@dataclasses.dataclass(frozen=True, kw_only=True)
class _NesterovSGD(Optimizer):
  learning_rate: float
  momentum: float
  weight_decay: float
  is_decayed: Sequence[bool] | None

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    # As in PyTorch, where the buffer starts as the first gradient.
    return collections.OrderedDict(
      [
        (LEARNING_RATE_KEY, tf.constant(self.learning_rate, tf.float32)),
        (_ACCUMULATOR_KEY, [tf.zeros(s.shape, s.dtype) for s in specs]),
      ]
    )

  def next(
    self,
    state: Mapping[str, Any],
    weights: Weights,
    gradients: Weights,
    scale: tf.Tensor | None = None,
  ) -> tuple[Mapping[str, Any], Weights]:
    learning_rate = state[LEARNING_RATE_KEY]

    def move(g, w, a, is_decayed):
      if scale is not None:
        g *= scale
      # TensorFlow does not always drop products with 0.
      if is_decayed and self.weight_decay:
        g += self.weight_decay * w
      if not self.momentum:
        return w - learning_rate * g, g
      a = self.momentum * a + g
      return w - learning_rate * (g + self.momentum * a), a

    weights, accumulator = map_elements(
      move,
      gradients,
      weights,
      state[_ACCUMULATOR_KEY],
      kinds=self.is_decayed or [True] * len(weights),
    )
    new_state = collections.OrderedDict(state)
    new_state[_ACCUMULATOR_KEY] = accumulator
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Wrapped(Optimizer):
  """An optimizer with clipping and frozen weights."""

  inner: Optimizer
  clip_norm: float | None = None
  is_trained: Sequence[bool] | None = None
  mask_gradient: Callable[[tf.Tensor], tf.Tensor] = tf.identity

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    return self.inner.initialize(self._select(specs))

  def next(
    self, state: Mapping[str, Any], weights: Weights, gradients: Weights
  ) -> tuple[Mapping[str, Any], Weights]:
    scale = None
    if self.clip_norm is not None:
      # Like PyTorch's `clip_grad_norm_`, it is finite at norm zero.
      norm = tf.linalg.global_norm(pack(gradients))
      scale = tf.minimum(1.0, self.clip_norm / (norm + 1e-6))
    own, of_own = self._select(weights), self._select(gradients)
    if self.is_trained is not None:
      of_own = tuple(map(self.mask_gradient, of_own))
    if isinstance(self.inner, _NesterovSGD):
      state, trained = self.inner.next(state, own, of_own, scale)
    else:
      if scale is not None:
        of_own = tuple(scale * g for g in of_own)
      state, trained = self.inner.next(state, own, of_own)
    if self.is_trained is None:
      return state, trained
    trained = iter(trained)
    return state, [
      next(trained) if is_trained else weight
      for weight, is_trained in zip(weights, self.is_trained, strict=True)
    ]

  def get_hparams(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return self.inner.get_hparams(state)

  def set_hparams(
    self, state: Mapping[str, Any], hparams: Mapping[str, Any]
  ) -> Mapping[str, Any]:
    return self.inner.set_hparams(state, hparams)

  def _select(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
    if self.is_trained is None:
      return tuple(tensors)
    return tuple(
      tensor
      for tensor, is_trained in zip(tensors, self.is_trained, strict=True)
      if is_trained
    )


def restrict(
  optimizer: Optimizer,
  is_trained: Sequence[bool],
  mask_gradient: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
) -> Optimizer:
  """An optimizer that trains only the weights where `is_trained`.

  The other weights do not decay either. Clipping uses the norm of the gradients
  of all weights, like PyTorch's `clip_grad_norm_` with a whole model.
  After clipping, `mask_gradient` is applied to gradients of trained weights.
  """
  if not isinstance(optimizer, _Wrapped):
    optimizer = _Wrapped(inner=optimizer)
  return dataclasses.replace(
    optimizer, is_trained=is_trained, mask_gradient=mask_gradient
  )


def build_nesterov_sgd(
  learning_rate: float = 0.03,
  *,
  momentum: float = 0.9,
  weight_decay: float = 5e-4,
  clip_norm: float | None = 1.0,
  is_decayed: Sequence[bool] | None = None,
) -> Optimizer:
  """Builds SGD with clipping, weight decay and Nesterov momentum.

  A step for gradients g, weights w, buffer a (initially 0), learning rate lr:

      g <- g * min(1, clip_norm / (|g| + 1e-6))    |g| over all tensors jointly
      g <- g + weight_decay * w                    where `is_decayed`
      a <- momentum * a + g
      w <- w - lr * (g + momentum * a)

  Defaults are from Table 4 of SemiFL, except `clip_norm` from its authors'
  code. By default all weights decay, even biases; in FixMatch, only kernels.
  """
  return _Wrapped(
    inner=_NesterovSGD(
      learning_rate=learning_rate,
      momentum=momentum,
      weight_decay=weight_decay,
      is_decayed=is_decayed,
    ),
    clip_norm=clip_norm,
  )


def build_adamw(
  learning_rate: float = 0.001,
  *,
  beta_1: float = 0.9,
  weight_decay: float = 0.0,
  clip_norm: float | None = None,
) -> Optimizer:
  """Builds TFF's AdamW with clipping; it is Adam if `weight_decay` is 0."""
  return _Wrapped(
    inner=tff.learning.optimizers.build_adamw(
      learning_rate, beta_1=beta_1, weight_decay=weight_decay
    ),
    clip_norm=clip_norm,
  )


def pack(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Concatenates tensors of known shapes into fewer tensors, by dtype."""
  tensors = list(map(tf.convert_to_tensor, tensors))
  return [
    _pack([tensors[index] for index in indices])
    for _, indices in _group(tensors, [None] * len(tensors))
  ]


def map_elements(
  fn: Callable[..., tuple[tf.Tensor, ...]],
  *tensors: Sequence[tf.Tensor],
  kinds: Sequence[Hashable],
) -> tuple[list[tf.Tensor], ...]:
  """Applies an elementwise function to the tensors of several lists.

  Lists have equal lengths; tensors at the same position have the same type and
  known shape. `fn` is called with a tensor of each list, all of one shape, and
  the kind of the tensors; `fn` returns a tuple of tensors of this shape. Only
  tensors of one kind are concatenated. Returns a list for each result of `fn`.
  """
  rows = [
    list(map(tf.convert_to_tensor, row)) for row in zip(*tensors, strict=True)
  ]
  first = [row[0] for row in rows]
  results: list[Any] = [None] * len(rows)
  for kind, indices in _group(first, kinds):
    packed = [
      _pack([rows[index][i] for index in indices]) for i in range(len(tensors))
    ]
    outputs = fn(*packed, kind)
    if len(indices) == 1:
      results[indices[0]] = outputs
      continue
    shapes = [first[index].shape for index in indices]
    sizes = [shape.num_elements() for shape in shapes]
    parts = [tf.split(each, sizes) for each in outputs]
    for index, shape, *row in zip(indices, shapes, *parts, strict=True):
      results[index] = tuple(_reshape(part, shape) for part in row)
  return tuple(map(list, zip(*results, strict=True)))


def _group(
  tensors: Sequence[tf.Tensor], kinds: Sequence[Hashable]
) -> list[tuple[Hashable, list[int]]]:
  """Groups of tensors to concatenate: pairs of a kind and indices."""
  # Graphs may run on other machines, but the size affects only speed.
  on_gpu = tf.config.list_physical_devices('GPU')
  most = _LARGEST_ON_GPU if on_gpu else _LARGEST_ON_CPU
  groups = {}
  for index, (kind, tensor) in enumerate(zip(kinds, tensors, strict=True)):
    is_packed = tensor.shape.num_elements() <= most
    # The index does not replace the dtype, because a dtype equals an integer.
    key = kind, tensor.dtype, None if is_packed else index
    groups.setdefault(key, []).append(index)
  return [(kind, indices) for (kind, *_), indices in groups.items()]


def _pack(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
  if len(tensors) == 1:
    return tensors[0]
  return tf.concat([_reshape(each, [-1]) for each in tensors], axis=0)


def _reshape(tensor: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
  if len(shape) == tensor.shape.rank == 1:
    return tensor
  return tf.reshape(tensor, shape)
