# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedDyn: clients with labels and a regularizer that changes each round.

  python -m launch.train examples.fed_dyn:FED_DYN --alpha=0.1

References:
  Acar, Zhao, Navarro, Mattina, Whatmough, Saligrama. Federated learning based
  on dynamic regularization. ICLR 2021. Algorithm 1.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedDyn(sfl.TrainOnLabels):
  """A client with labels; its memory is the gradient at its last model."""

  alpha: float = sfl.setting(0.1, 'alpha of FedDyn.')

  def init_memory(self, model: sfl.ImageClassifier) -> Any:
    return tuple(map(tf.zeros_like, model.initial_weights.trainable))

  init_guidance = init_memory

  def loss(self, step: sfl.Step, state: Any) -> tf.Tensor:
    """The cross-entropy - <gradient, w> + alpha / 2 |w - received|^2."""
    pairs = zip(step.client.memory, step.weights.trainable, strict=True)
    linear = tf.add_n([tf.reduce_sum(gradient * w) for gradient, w in pairs])
    proximal = self.alpha / 2 * step.distance(step.received)
    return super().loss(step, state) - linear + proximal

  def after_round(self, client: Any, state: Any, weights: Any) -> Any:
    shift = tf.nest.map_structure(tf.subtract, client.received, weights)
    arrays = client.memory, shift.trainable
    return tf.nest.map_structure(lambda g, s: g + self.alpha * s, *arrays)

  def report(self, client: sfl.ClientContext, state: Any) -> Any:
    memories = client.new_memory, client.memory
    return tf.nest.map_structure(tf.subtract, *memories), self.weigh(client)

  def guidance(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    """The mean of all clients' gradients, h."""
    number = server.num_clients
    return tf.nest.map_structure(lambda h, s: h + s / number, kept, sums[0])

  def update(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    """The mean model minus h / alpha; unchanged without any update."""
    factor = tf.minimum(sums[1], 1.0) / self.alpha
    arrays = server.weights.trainable, self.guidance(kept, sums, server)
    trainable = tf.nest.map_structure(lambda w, h: w - factor * h, *arrays)
    return server.weights._replace(trainable=trainable)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedDynAveraging(sfl.Supervised):
  """The plain mean of models, with the same learning rate in all rounds."""

  usual = {'constant_learning_rate': True, 'global_momentum': 0.0}


FED_DYN = FedDynAveraging(client=FedDyn())
