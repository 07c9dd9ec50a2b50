# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training of Zhang et al. in NumPy, for the linear classifier.

Only the random numbers are TensorFlow's.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tests import given_labels_reference
from tests import linear_reference
from tff_semifl.randomness import random_seeds


class NodeRound(NamedTuple):
  """The results of a node's round."""

  weights: list[np.ndarray]
  accumulator: list[np.ndarray]
  loss_sum: float
  num_correct: int
  num_counted: int
  num_visited: int
  labeled: list[given_labels_reference.LabeledBatch]


def draw_batches(num_images, *, seed, round_num, node, num_steps, batch_size):
  """The indices of each full batch, epoch after epoch."""
  batches = []
  pass_num = 0
  size = min(batch_size, num_images)
  while len(batches) < num_steps:
    order = linear_reference.order(
      num_images,
      seed,
      random_seeds.Purpose.FIX_ORDER,
      round_num,
      node,
      pass_num,
    )
    for start in range(0, num_images - size + 1, size):
      batches.append(order[start : start + size])
    pass_num += 1
  return batches[:num_steps]


def train_node(
  weights,
  accumulator,
  images,
  *,
  labels=None,
  threshold=None,
  is_self_training=False,
  weak=linear_reference.unchanged,
  strong=linear_reference.unchanged,
  seed,
  round_num,
  node,
  num_steps,
  batch_size,
  learning_rates,
) -> NodeRound:
  """Trains on labels if given, otherwise on pseudo-labels."""
  weights = [np.asarray(array, np.float64) for array in weights]
  accumulator = [np.asarray(array, np.float64) for array in accumulator]
  batches = draw_batches(
    len(images),
    seed=seed,
    round_num=round_num,
    node=node,
    num_steps=num_steps,
    batch_size=batch_size,
  )
  chosen = tf.constant(images[np.concatenate(batches)])

  def views(augment, purpose):
    keys = random_seeds.stateless_seed(seed, purpose, round_num, node)
    return np.split(augment(chosen, keys).numpy(), num_steps)

  weak_views = views(weak, random_seeds.Purpose.WEAK_VIEW)
  trained_views = weak_views
  if labels is None and not is_self_training:
    trained_views = views(strong, random_seeds.Purpose.STRONG_VIEW)
  loss_sum = 0.0
  labeled = []
  num_correct = num_counted = num_visited = 0
  for step, batch in enumerate(batches):
    if labels is None:
      beliefs = linear_reference.softmax(
        linear_reference.logits(weights, weak_views[step])
      )
      targets = beliefs.argmax(axis=1)
      counts = beliefs.max(axis=1) >= threshold
      labeled.append(
        given_labels_reference.LabeledBatch(batch, targets, counts)
      )
    else:
      targets, counts = labels[batch], np.full(len(batch), True)
    inputs = trained_views[step]
    probabilities = linear_reference.softmax(
      linear_reference.logits(weights, inputs)
    )
    each = -np.log(probabilities[np.arange(len(batch)), targets])
    loss_sum += np.sum(each * counts)
    num_correct += np.sum(counts & (probabilities.argmax(axis=1) == targets))
    num_counted += np.sum(counts)
    num_visited += len(batch)
    # The gradient by logits of the sum over selected images / all of the batch.
    errors = (probabilities - np.eye(3)[targets]) * counts[:, None] / len(batch)
    pixels = inputs.reshape(len(batch), -1).astype(np.float64) / 255
    gradients = [pixels.T @ errors, errors.sum(axis=0)]
    for index, gradient in enumerate(gradients):
      gradient = gradient + 1e-4 * weights[index]
      accumulator[index] = 0.9 * accumulator[index] + gradient
      weights[index] = weights[index] - learning_rates[step] * (
        gradient + 0.9 * accumulator[index]
      )
  return NodeRound(
    weights,
    accumulator,
    loss_sum,
    num_correct,
    num_counted,
    num_visited,
    labeled,
  )
