# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SCAFFOLD (option II): SemiFL with control variates, which are mean gradients.

  python -m launch.train examples.scaffold:SCAFFOLD

References:
  Karimireddy, Kale, Mohri, Reddi, Stich, Suresh. SCAFFOLD: Stochastic
  controlled averaging for federated learning. ICML 2020.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scaffold(sfl.FixMix):
  """SemiFL's client with control variates; its state counts steps."""

  def init_memory(self, model: sfl.ImageClassifier) -> Any:
    """Zeros: the first control variates of a client and of the server."""
    return tuple(map(tf.zeros_like, model.initial_weights.trainable))

  init_guidance = init_memory

  def init_state(self, client: sfl.ClientContext) -> Any:
    return tf.constant(0.0)

  def after_step(self, state: Any, weights: Any) -> Any:
    return state + 1.0

  def loss(self, step: sfl.Step, state: Any) -> tf.Tensor:
    """SemiFL's loss; gradients get the server's minus the client's variate."""
    arrays = step.guidance, step.client.memory, step.weights.trainable
    added = tf.nest.map_structure(
      lambda c, own, w: tf.reduce_sum((c - own) * w), *arrays
    )
    return super().loss(step, state) + tf.add_n(added)

  def after_round(self, client: Any, state: Any, weights: Any) -> Any:
    """The client's new variate (option II); the old variate without a step."""
    arrays = client.guidance, client.received.trainable, weights.trainable

    def find(own: Any, c: Any, x: Any, y: Any) -> tf.Tensor:
      new = own - c + (x - y) / (state * client.learning_rate)
      return tf.where(state > 0, new, own)

    return tf.nest.map_structure(find, client.memory, *arrays)

  def report(self, client: sfl.ClientContext, state: Any) -> Any:
    return tf.nest.map_structure(tf.subtract, client.new_memory, client.memory)

  def guidance(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    mean = tf.nest.map_structure(lambda each: each / server.num_clients, sums)
    return tf.nest.map_structure(tf.add, kept, mean)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithoutMomentum(sfl.Alternating):
  """Alternate training by plain gradient descent, as option II assumes."""

  usual = {'momentum': 0.0, 'global_momentum': 0.0}


SCAFFOLD = WithoutMomentum(client=Scaffold())
