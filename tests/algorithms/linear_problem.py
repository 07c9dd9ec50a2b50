# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A federation small enough to be trained a second time, in NumPy."""

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl import random_seeds
from tff_semifl.algorithms import hyperparameters

SEED = 11
# Some images of each client are above it, some below.
THRESHOLD = 0.4
_TOTAL_ROUNDS = 10
_INITIAL_LEARNING_RATE = 0.3

HYPERPARAMETERS = hyperparameters.Hyperparameters(
  total_rounds=_TOTAL_ROUNDS,
  server_batch_size=2,
  seed=SEED,
  client_epochs=2,
  server_epochs=2,
  client_batch_size=3,
  confidence_threshold=THRESHOLD,
  learning_rate=_INITIAL_LEARNING_RATE,
)


def learning_rate(round_num: int) -> float:
  """Returns half a cosine over ten rounds; round 0 is as the first (D1)."""
  elapsed = max(round_num, 1) - 1
  return (
    _INITIAL_LEARNING_RATE * (1 + np.cos(np.pi * elapsed / _TOTAL_ROUNDS)) / 2
  )


class LinearProblem:
  """Five labelled images and three clients with four to six each.

  Attributes:
    images: The server's.
    labels: Of these.
    server_data: Both, as the process takes them.
    clients: Number and images of each client.
  """

  def __init__(self):
    self.images = linear_reference.create_images(5, seed=1)
    self.labels = np.array([0, 1, 2, 1, 0])
    self.server_data = linear_reference.labelled_dataset(
      self.images, self.labels
    )
    self.clients = [
      (client_id, linear_reference.create_images(4 + client_id, seed=client_id))
      for client_id in range(3)
    ]

  def client_data(self, client_ids: list[int]) -> list[tf.data.Dataset]:
    """Returns a cohort's data as the process takes it."""
    return [
      linear_reference.client_dataset(*self.clients[client_id])
      for client_id in client_ids
    ]

  def train_server(
    self, sgd: linear_reference.NumpySGD, round_num: int
  ) -> None:
    """Takes the server's turn: two epochs in batches of 2, 2 and 1."""
    sgd.learning_rate = learning_rate(round_num)
    for epoch in range(2):
      seed = random_seeds.stateless_seed(
        SEED, random_seeds.Purpose.SERVER_ORDER, round_num, epoch
      )
      order = tf.random.experimental.stateless_shuffle(
        tf.range(5), seed
      ).numpy()
      for batch in (order[:2], order[2:4], order[4:]):
        sgd.step((1.0, self.images[batch], self.labels[batch]))


def apply_mean(weights, velocity, trained):
  """Moves to the clients' plain mean (A.12), with momentum 0.5 (D15).

  Args:
    weights: Those that clients received.
    velocity: Of the last round.
    trained: The weights of each client that counts, at least one.

  Returns:
    New weights and new velocity.
  """
  means = [np.mean(arrays, axis=0) for arrays in zip(*trained, strict=True)]
  velocity = [
    0.5 * v + (w - mean)
    for v, w, mean in zip(velocity, weights, means, strict=True)
  ]
  return [w - v for w, v in zip(weights, velocity, strict=True)], velocity
