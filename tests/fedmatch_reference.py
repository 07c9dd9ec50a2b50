# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch's local training in NumPy, for the model of `decomposed_reference`.

Weights are sigma, phi, kernel and bias; kernel and bias are not trained. Only
the random numbers are TensorFlow's.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tests import decomposed_reference
from tests import given_labels_reference
from tests import linear_reference
from tff_semifl.randomness import random_seeds

SIGMA, PHI = 0, 1


class ClientUpdate(NamedTuple):
  """The results of a client's local training."""

  phi: np.ndarray
  loss: float
  num_confident: int
  num_correct: int
  consistency: float
  num_outvoted: int
  labeled: list[given_labels_reference.LabeledBatch]


def probabilities(weights, phi, images: np.ndarray) -> np.ndarray:
  """Probabilities, float64 [num_images, classes], with another phi."""
  return linear_reference.softmax(
    decomposed_reference.logits([weights[SIGMA], phi, *weights[2:]], images)
  )


def _gradient(weights, images: np.ndarray, errors: np.ndarray) -> np.ndarray:
  """The gradient by phi, or sigma, if `errors` is the gradient by logits."""
  pixels = decomposed_reference.pixels(images)
  return (pixels.T @ errors @ weights[2].T).reshape(weights[PHI].shape)


def train_server(
  weights,
  images: np.ndarray,
  labels: np.ndarray,
  *,
  learning_rate: float,
  batch_size: int,
  loss_weight: float,
):
  """Trains sigma for an epoch, in order; returns all weights."""
  weights = [np.asarray(array, np.float64) for array in weights]
  for start in range(0, len(labels), batch_size):
    batch = slice(start, start + batch_size)
    p = probabilities(weights, weights[PHI], images[batch])
    targets = np.eye(linear_reference.NUM_CLASSES)[labels[batch]]
    weights[SIGMA] = weights[SIGMA] - learning_rate * loss_weight * _gradient(
      weights, images[batch], (p - targets) / len(p)
    )
  return weights


def train_client(
  weights,
  images: np.ndarray,
  helpers: list[np.ndarray],
  *,
  client_id: int,
  round_num: int,
  seed: int,
  learning_rate: float,
  batch_size: int,
  threshold: float,
  loss_weights,
  strong=linear_reference.unchanged,
) -> ClientUpdate:
  """Trains phi for an epoch, in order."""
  weights = [np.asarray(array, np.float64) for array in weights]
  strong_images = strong(
    tf.constant(images),
    random_seeds.stateless_seed(
      seed, random_seeds.Purpose.STRONG_VIEW, round_num, client_id, 0
    ),
  ).numpy()
  losses, consistencies, labeled = [], [], []
  num_confident = num_correct = num_outvoted = 0
  for start in range(0, len(images), batch_size):
    batch = slice(start, start + batch_size)
    sigma, phi = weights[SIGMA], weights[PHI]
    p = probabilities(weights, phi, images[batch])
    loss = loss_weights.l1 * np.abs(phi).sum()
    loss += loss_weights.l2 * ((sigma - phi) ** 2).sum()
    gradient = loss_weights.l1 * np.sign(phi)
    gradient = gradient + 2 * loss_weights.l2 * (phi - sigma)
    keep = p.max(axis=1) >= threshold
    votes = np.zeros_like(p)
    for model in (phi, *helpers):
      votes_of_one = probabilities(weights, model, images[batch]).argmax(axis=1)
      votes[np.arange(len(p)), votes_of_one] += 1
    labeled.append(
      given_labels_reference.LabeledBatch(
        np.arange(len(images))[batch], votes.argmax(axis=1), keep
      )
    )
    if keep.any():
      x, views, p = images[batch][keep], strong_images[batch][keep], p[keep]
      of_helpers = [probabilities(weights, helper, x) for helper in helpers]
      consistency = 0.0
      for q in of_helpers:
        divergence = np.sum(q * np.log(q / p), axis=1).mean()
        consistency += divergence / len(helpers)
        # d KL(q || p) / d(logits of p) = p - q.
        gradient = gradient + loss_weights.consistency * _gradient(
          weights, x, (p - q) / len(p) / len(helpers)
        )
      labels = votes.argmax(axis=1)[keep]
      p_strong = probabilities(weights, phi, views)
      targets = np.eye(linear_reference.NUM_CLASSES)[labels]
      agreement = -np.mean(np.sum(targets * np.log(p_strong), axis=1))
      gradient = gradient + loss_weights.agreement * _gradient(
        weights, views, (p_strong - targets) / len(p)
      )
      loss += loss_weights.consistency * consistency
      loss += loss_weights.agreement * agreement
      consistencies.append(consistency)
      num_confident += keep.sum()
      num_correct += np.sum(p_strong.argmax(axis=1) == labels)
      num_outvoted += np.sum(p.argmax(axis=1) != labels)
    losses += [loss] * len(images[batch])
    weights[PHI] = phi - learning_rate * gradient
  return ClientUpdate(
    weights[PHI],
    np.mean(losses) if losses else 0.0,
    num_confident,
    num_correct,
    consistencies[0] if consistencies else 0.0,
    num_outvoted,
    labeled,
  )
