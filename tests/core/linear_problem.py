# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A federation that is small enough to be trained in NumPy too."""

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping
import functools
import types
from typing import Any

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tff_semifl.core import federated_process
from tff_semifl.randomness import random_seeds

SEED = 11
# Each client has images above and below this confidence.
THRESHOLD = 0.4
_TOTAL_ROUNDS = 10
_INITIAL_LEARNING_RATE = 0.3

SETTINGS = types.MappingProxyType(
  {
    'total_rounds': _TOTAL_ROUNDS,
    'clients_per_round': 3,
    'server_batch_size': 2,
    'client_epochs': 2,
    'server_epochs': 2,
    'client_batch_size': 3,
    'confidence_threshold': THRESHOLD,
    'learning_rate': _INITIAL_LEARNING_RATE,
  }
)


def build(
  system_name: str,
  changes: Mapping[str, Any] = types.MappingProxyType({}),
  **ingredients: Any,
) -> federated_process.FederatedProcess:
  """Builds a system of the registry with `SETTINGS` and `changes`."""
  return small_systems.build(
    system_name, changes, usual=SETTINGS, seed=SEED, **ingredients
  )


def learning_rate(round_num: int) -> float:
  """A half cosine over ten rounds; round 0 is like the first round."""
  elapsed = max(round_num, 1) - 1
  return (
    _INITIAL_LEARNING_RATE * (1 + np.cos(np.pi * elapsed / _TOTAL_ROUNDS)) / 2
  )


def true_labels(client_id: int) -> np.ndarray:
  """Labels of two of three classes, which depend on the client."""
  return np.array([client_id, (client_id + 1) % 3] * 3)[: 4 + client_id]


class LinearProblem:
  """Five labeled images, and three clients with four to six images each.

  `images` and `labels` are the server's; `server_data` has both, as an argument
  of the process. `clients` are pairs of a client's number and images.
  """

  def __init__(self):
    self.images = linear_reference.create_images(5, seed=1)
    self.labels = np.array([0, 1, 2, 1, 0])
    self.server_data = linear_reference.labeled_dataset(
      self.images, self.labels
    )
    self.clients = [
      (client_id, linear_reference.create_images(4 + client_id, seed=client_id))
      for client_id in range(3)
    ]

  def client_data(self, client_ids: list[int]) -> list[tf.data.Dataset]:
    """A cohort's data, as an argument of the process."""
    return [
      linear_reference.client_dataset(*self.clients[client_id])
      for client_id in client_ids
    ]

  def train_server(
    self,
    sgd: linear_reference.NumpySGD,
    round_num: int,
    rate_factor: float = 1.0,
  ) -> None:
    """Trains the server for two epochs, in batches of 2, 2 and 1."""
    sgd.learning_rate = rate_factor * learning_rate(round_num)
    order = random_seeds.Purpose.SERVER_ORDER, round_num
    self._train(sgd, self.images, self.labels, order, 2)

  def labeled_client_data(
    self,
    client_ids: list[int],
    labels_fn: Callable[[int], np.ndarray] = true_labels,
  ) -> list[tf.data.Dataset]:
    """A cohort's data with labels."""
    return [
      tf.data.Dataset.from_tensors(
        collections.OrderedDict(
          client_id=np.int32(client_id),
          image=self.clients[client_id][1],
          label=labels_fn(client_id).astype(np.int32),
        )
      )
      for client_id in client_ids
    ]

  def train_on_labels(
    self, weights, images, labels, client_id: int, round_num: int
  ) -> list[np.ndarray]:
    """Trains for two epochs in batches of three, in the client's order."""
    sgd = linear_reference.NumpySGD(weights, learning_rate(round_num))
    order = random_seeds.Purpose.FIX_ORDER, round_num, client_id
    self._train(sgd, images, labels, order, 3)
    return sgd.weights

  def _train(self, sgd, images, labels, keys_of_order, batch_size) -> None:
    for epoch in range(2):
      order = linear_reference.order(len(images), SEED, *keys_of_order, epoch)
      for start in range(0, len(images), batch_size):
        batch = order[start : start + batch_size]
        sgd.step((1.0, images[batch], labels[batch]))

  def train_client(
    self, reference, weights, client_id: int, round_num: int, **arguments
  ):
    """Trains a client for two epochs, in batches of three.

    `reference` is `train_client` of `batch_label_reference` or
    `fix_mix_reference`, with further `arguments`; returns its `ClientRound`.
    """
    return reference(
      weights,
      self.clients[client_id][1],
      client_id=client_id,
      round_num=round_num,
      seed=SEED,
      learning_rate=learning_rate(round_num),
      num_epochs=2,
      batch_size=3,
      **arguments,
    )


def train(
  process: federated_process.FederatedProcess, cohorts: list[list[int]]
) -> list[np.ndarray]:
  """State and metrics after a round with each cohort, as arrays.

  Clients of `process` have no memory.
  """
  problem = LinearProblem()
  state = process.initialize()
  for cohort in cohorts:
    output = process.next(
      state, problem.server_data, problem.client_data(cohort)
    )
    state = output.state
  return [np.asarray(leaf) for leaf in tf.nest.flatten(output)]


class Federation:
  """The global model and its momentum over the rounds, in NumPy.

  `sgd` has the global model's weights, and is the server's optimizer;
  `velocity` is the global momentum.
  """

  def __init__(self, sgd: linear_reference.NumpySGD):
    self.sgd = sgd
    self.velocity = [np.zeros_like(array) for array in sgd.weights]

  def step(self, base, target) -> None:
    """Takes a step from `base` towards `target` with momentum 0.5."""
    self.velocity = [
      0.5 * v + (b - t)
      for v, b, t in zip(self.velocity, base, target, strict=True)
    ]
    self.sgd.weights = [b - v for b, v in zip(base, self.velocity, strict=True)]

  def average(self, trained, sizes=None) -> None:
    """Moves to the mean of clients' weights, if there are any clients.

    The mean is plain, or weighted by `sizes`.
    """
    if trained:
      means = [
        np.average(arrays, axis=0, weights=sizes)
        for arrays in zip(*trained, strict=True)
      ]
      self.step(self.sgd.weights, means)

  def assert_equal(self, state) -> None:
    """Asserts that a process has the same weights."""
    for found, expected in zip(
      state.global_model_weights.trainable, self.sgd.weights, strict=True
    ):
      np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def follow(
  process: federated_process.FederatedProcess,
  cohorts: Iterable[list[int]],
  *,
  have_labels: bool | Callable[[int], np.ndarray] = False,
  create_sgd: Callable[..., linear_reference.NumpySGD] = (
    linear_reference.NumpySGD
  ),
) -> Iterator[tuple[int, list[int], Federation, Any]]:
  """Yields number, cohort, federation and output of the rounds of a process.

  The caller trains the federation, whose weights are compared with the process
  after each round. Clients get their memories, if they have any, and
  `true_labels` or the labels of a function.
  """
  problem = LinearProblem()
  state = process.initialize()
  federation = Federation(create_sgd(state.global_model_weights.trainable, 0.0))
  data_of = problem.labeled_client_data if have_labels else problem.client_data
  if callable(have_labels):
    data_of = functools.partial(data_of, labels_fn=have_labels)
  memories = {}
  for round_num, cohort in enumerate(cohorts):
    arguments = [state, problem.server_data, data_of(cohort)]
    if process.initialize_memory is not None:
      first = process.initialize_memory()
      arguments.append([memories.get(client, first) for client in cohort])
    output = process.next(*arguments)
    memories.update(zip(cohort, output.memories, strict=False))
    state = output.state
    yield round_num, cohort, federation, output
    federation.assert_equal(state)
