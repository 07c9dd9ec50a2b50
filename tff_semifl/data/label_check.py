# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks labels: the probability of each, given the images and other labels.

Labels spread over a graph of nearest neighbors, but not to themselves.

References:
  Zhou et al. Learning with local and global consistency. NIPS 2003.
  Zhu, Ghahramani and Lafferty. Semi-supervised learning using Gaussian fields
  and harmonic functions. ICML 2003, section 4 (class mass normalization).
"""

import numpy as np
from scipy import sparse
from sklearn import neighbors
from sklearn import preprocessing

from tff_semifl.data import image_choice

_NEIGHBORS = 10
# The fraction of an image's label distribution that comes from its neighbors.
_SPREAD = 0.9
# Enough to converge: 0.9 to this power is 0.005.
_STEPS = 50
# The batch size in which labels' influence on their own images is computed.
_BATCH_SIZE = 256
_LEAST = 1e-12


def check_labels(
  features: np.ndarray,
  labels: np.ndarray,
  num_classes: int,
  unlabeled: np.ndarray | None = None,
) -> np.ndarray:
  """Class probabilities of each labeled image, given all labels but its own.

  A class that no other image has gets probability 0.

  Args:
    features: float [labels, features], such as outputs of a pretrained network.
    labels: int [labels], in 0..num_classes-1.
    unlabeled: float [images, features], the features of similar images without
      labels, which help much. If there are many, a sample is used.

  Returns:
    float64 [labels, num_classes].
  """
  if unlabeled is None:
    unlabeled = features[:0]
  if len(unlabeled) > image_choice.MOST_IMAGES:
    rows = np.random.default_rng(0).choice(
      len(unlabeled), image_choice.MOST_IMAGES, replace=False
    )
    unlabeled = unlabeled[np.sort(rows)]
  # At unit length, images with strong and with weak features compare.
  units = preprocessing.normalize(np.concatenate([features, unlabeled]))
  graph = _connect(image_choice.embed(units))
  count = len(labels)
  targets = np.eye(num_classes)[labels]
  sent = np.zeros([graph.shape[0], num_classes])
  sent[:count] = targets
  received = _spread(graph, sent)
  mass = received.sum(axis=0)
  returned = np.empty(count)
  for start in range(0, count, _BATCH_SIZE):
    rows = np.arange(start, min(start + _BATCH_SIZE, count))
    sent = np.zeros([graph.shape[0], len(rows)])
    sent[rows, np.arange(len(rows))] = 1
    found = _spread(graph, sent)
    returned[rows] = found[rows, np.arange(len(rows))]
  others = received[:count] - returned[:, np.newaxis] * targets
  # Probabilities are meaningless for an image that no other label reaches.
  scores = np.where(mass > 0, np.maximum(others, 0) + _LEAST, 0)
  scores /= np.maximum(mass, _LEAST)
  return scores / scores.sum(axis=1, keepdims=True)


def _connect(points: np.ndarray) -> sparse.csr_matrix:
  """The symmetric, normalized graph of nearest neighbors, [points, points]."""
  number = min(_NEIGHBORS, len(points) - 1)
  if not number:
    return sparse.csr_matrix((1, 1))
  search = neighbors.NearestNeighbors(n_neighbors=number, algorithm='brute')
  graph = search.fit(points).kneighbors_graph(mode='distance')
  distances = graph.data.reshape(len(points), number)
  scale = max(float(np.median(distances[:, -1])), _LEAST)
  graph.data = np.exp(-((graph.data / scale) ** 2))
  graph = graph.maximum(graph.T)
  degrees = np.asarray(graph.sum(axis=1)).ravel()
  normalize = sparse.diags(1 / np.sqrt(np.maximum(degrees, _LEAST)))
  return (normalize @ graph @ normalize).tocsr()


def _spread(graph: sparse.csr_matrix, sent: np.ndarray) -> np.ndarray:
  """Spreads labels over the graph, float64 [points, columns]."""
  received = sent
  for _ in range(_STEPS):
    received = _SPREAD * (graph @ received) + sent
  return received
