# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Chooses images to label among images that stay at clients, by k-means.

  python -m examples.choose_images_at_clients

`launch.choose_images` needs all images in one place. Here the server sees sums
over clients, and the least distance to each center. It computes principal
components and the centers of k-means from the sums. Each client then lists the
images of its own that are nearest to a center; their owner labels these images.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn import datasets
from sklearn import linear_model
from sklearn import preprocessing
import tensorflow as tf
import tensorflow_federated as tff

import tff_semifl as sfl

_COMPONENTS = 64
# Draws of random images.
_DRAWS = 20


def combine(
  operator: Callable[[tff.Value], tff.Value], arrays: Sequence[np.ndarray]
) -> np.ndarray:
  """Aggregates one array per client with a TFF operator, such as a sum."""
  array_type = tff.TensorType(np.float64, arrays[0].shape)
  compute = tff.federated_computation(
    operator, tff.FederatedType(array_type, tff.CLIENTS)
  )
  return np.asarray(compute(arrays))


def find_moments(
  clients: Sequence[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
  """Mean and covariance of all rows, from sums over clients."""
  with_ones = [np.insert(each, 0, 1, axis=1) for each in clients]
  sums = combine(tff.federated_sum, [each.T @ each for each in with_ones])
  sums /= sums[0, 0]
  mean = sums[0, 1:]
  return mean, sums[1:, 1:] - np.outer(mean, mean)


def find_centers(
  points: Sequence[np.ndarray], number: int, steps: int
) -> np.ndarray:
  """The centers of k-means, float32 [number, components]."""
  process = tff.learning.algorithms.build_fed_kmeans(
    number, (points[0].shape[1],), random_seed=(0, 0)
  )
  mean, covariance = find_moments(points)
  # TFF's own first centers have unit variance, unlike the points.
  centers = np.random.default_rng(0).multivariate_normal(
    mean, covariance / 4, number
  )
  data = [
    tf.data.Dataset.from_tensor_slices(each.astype(np.float32))
    for each in points
  ]
  for _ in range(steps):
    # A new state, in which earlier steps do not count.
    state = process.set_model_weights(
      process.initialize(), centers.astype(np.float32)
    )
    state = process.next(state, data).state
    centers = process.get_model_weights(state)
  return np.asarray(centers)


def choose(
  clients: Sequence[np.ndarray], number: int, steps: int = 10
) -> list[np.ndarray]:
  """Chooses at most `number` images by clients' features, [images, features].

  The result has the indices of the chosen images of each client.
  """
  mean, covariance = find_moments(clients)
  basis = np.linalg.eigh(covariance)[1][:, -_COMPONENTS:]
  points = [preprocessing.normalize((each - mean) @ basis) for each in clients]
  centers = find_centers(points, number, steps)
  distances = [
    np.linalg.norm(each[:, np.newaxis] - centers, axis=2) for each in points
  ]
  nearest = [each.min(axis=0) for each in distances]
  least = combine(tff.federated_min, nearest)
  return [
    np.unique(each.argmin(axis=0)[own <= least])
    for each, own in zip(distances, nearest, strict=True)
  ]


def main(number: int = 40, steps: int = 10) -> list[float]:
  """Prints and returns accuracies on digits, with random and chosen labels."""
  x, labels = datasets.load_digits(return_X_y=True)
  order = np.random.default_rng(0).permutation(len(x))
  clients, test = np.split(order, [1200])
  # Ten clients, most of whose images are of two classes.
  clients = np.array_split(clients[labels[clients].argsort()], 10)
  with sfl.simulation_context():
    found = choose([x[rows] for rows in clients], number, steps)
  chosen = np.concatenate(
    [rows[own] for rows, own in zip(clients, found, strict=True)]
  )
  draws = np.split(order[: _DRAWS * len(chosen)], _DRAWS)
  accuracies = []
  for name, all_rows in ('random', draws), ('chosen', [chosen]):
    scores = []
    for rows in all_rows:
      model = linear_model.LogisticRegression(max_iter=1000)
      model.fit(x[rows], labels[rows])
      scores.append(model.score(x[test], labels[test]))
    accuracies.append(float(np.mean(scores)))
    print(f'{len(chosen)} {name} images: accuracy {accuracies[-1]:.1%}')
  return accuracies


if __name__ == '__main__':
  main()
