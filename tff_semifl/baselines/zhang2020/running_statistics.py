# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Batch normalization with running averages that stay at each node.

In an ablation Zhang et al. average only trainable parameters. Each node (a slot
of clients, or a replica of the server) keeps running averages of its batch
statistics in the state of its optimizer. With momentum m, a running average
moves by m times its distance from the batch statistic. The move is a gradient
step, with learning rate m, on half the squared distance.
"""

import collections
from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import batch_norm_statistics
from tff_semifl.models import functional

# PyTorch's default, which Zhang et al. use.
MOMENTUM = 0.1
_OPTIMIZER_KEY = 'optimizer'
_STATISTICS_KEY = 'statistics'

Weights = Sequence[tf.Tensor]


@dataclasses.dataclass(frozen=True)
class _TrackingOptimizer(tff.learning.optimizers.Optimizer):
  """Trains weights with `inner`, and updates running averages."""

  inner: tff.learning.optimizers.Optimizer
  initial_statistics: Sequence[Any]

  def initialize(self, specs: Sequence[tf.TensorSpec]) -> Mapping[str, Any]:
    return _state(
      self.inner.initialize(specs),
      list(map(tf.constant, self.initial_statistics)),
    )

  def next(
    self, state: Mapping[str, Any], weights: Weights, gradients: Weights
  ) -> tuple[Mapping[str, Any], Weights]:
    num_trained = len(weights) - len(self.initial_statistics)
    optimizer_state, trained = self.inner.next(
      state[_OPTIMIZER_KEY], weights[:num_trained], gradients[:num_trained]
    )
    statistics = [
      value - MOMENTUM * gradient
      for value, gradient in zip(
        weights[num_trained:], gradients[num_trained:], strict=True
      )
    ]
    return _state(optimizer_state, statistics), [*trained, *statistics]

  def get_hparams(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return self.inner.get_hparams(state[_OPTIMIZER_KEY])

  def set_hparams(
    self, state: Mapping[str, Any], hparams: Mapping[str, Any]
  ) -> Mapping[str, Any]:
    return _state(
      self.inner.set_hparams(state[_OPTIMIZER_KEY], hparams),
      state[_STATISTICS_KEY],
    )


def _state(optimizer_state: Any, statistics: Any) -> Mapping[str, Any]:
  return collections.OrderedDict(
    [(_OPTIMIZER_KEY, optimizer_state), (_STATISTICS_KEY, statistics)]
  )


def track(
  optimizer: tff.learning.optimizers.Optimizer,
  classifier: functional.ImageClassifier,
) -> tff.learning.optimizers.Optimizer:
  """An optimizer that also updates running averages, if the model has any.

  The optimizer takes trainable weights, then running averages. The loss must
  include `pull`, which has the gradients of running averages.
  """
  if classifier.batch_moments is None:
    return optimizer
  return _TrackingOptimizer(optimizer, classifier.initial_weights.non_trainable)


def get_statistics(
  optimizer: tff.learning.optimizers.Optimizer, state: Any
) -> tuple[tf.Tensor, ...]:
  """The running mean and variance, layer by layer; () if not tracked."""
  if not isinstance(optimizer, _TrackingOptimizer):
    return ()
  return tuple(state[_STATISTICS_KEY])


def pull(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
) -> tf.Tensor:
  """A loss of 0 whose gradient moves running averages to batch statistics.

  `images` are float32 [batch, ...]. Variances are unbiased, as in PyTorch.
  """
  found = []
  for moments in classifier.batch_moments(weights, images):
    _, mean, variance = tf.unstack(
      batch_norm_statistics.unbiased_statistics(tf.stop_gradient(moments))
    )
    found += [mean, variance]
  distance = tf.add_n(
    [
      tf.reduce_sum(tf.square(running - batch)) / 2
      for running, batch in zip(weights.non_trainable, found, strict=True)
    ]
  )
  return distance - tf.stop_gradient(distance)
