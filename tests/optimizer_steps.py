# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Optimizer steps in a training loop, for tests."""

import numpy as np
import tensorflow as tf

from tff_semifl.core import optimizers

_SHAPES = ((3, 2), (2,), ())


def random_tensors(generator, scale):
  return [
    np.asarray(generator.normal(scale=scale, size=shape), np.float32)
    for shape in _SHAPES
  ]


def specs(tensors):
  return [tf.TensorSpec(np.shape(t), tf.float32) for t in tensors]


def get_accumulator(state):
  _, accumulator = state.values()  # After the learning rate.
  return accumulator


def set_learning_rate(optimizer, state, learning_rate):
  hparams = {optimizers.LEARNING_RATE_KEY: tf.constant(learning_rate)}
  return optimizer.set_hparams(state, hparams)


def run(optimizer, weights, all_gradients, learning_rates):
  """Returns state and weights after a step for each of the gradients."""
  state = optimizer.initialize(specs(weights))
  weights = [tf.constant(w, tf.float32) for w in weights]
  for gradients, learning_rate in zip(
    all_gradients, learning_rates, strict=True
  ):
    state = set_learning_rate(optimizer, state, learning_rate)
    gradients = [tf.constant(g, tf.float32) for g in gradients]
    state, weights = optimizer.next(state, weights, gradients)
  return state, weights
