# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Helps to label images: chooses images to label, and checks labels.

The most typical image of each cluster of features is chosen. To check a label,
all other labels are propagated to its image over a nearest-neighbor graph.

References:
  Hacohen, Dekel and Weinshall. Active learning on a budget: opposite strategies
  suit high and low budgets. ICML 2022, section 3.2 (TypiClust).
  Zhou et al. Learning with local and global consistency. NIPS 2003.
  Zhu, Ghahramani and Lafferty. Semi-supervised learning using Gaussian fields
  and harmonic functions. ICML 2003, section 4 (class mass normalization).
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn import cluster
from sklearn import neighbors
from sklearn import preprocessing
from sklearn.utils import extmath
import threadpoolctl

# The number of principal components for distances.
_COMPONENTS = 64
# An image is typical if its mean distance to this number of neighbors is small.
_NEIGHBORS = 20
_STARTS = 3
# From a larger pool, this number of random images is considered.
MOST_IMAGES = 20_000
# Images are near-duplicates if their distance is below this fraction of the
# median distance to the last of the neighbors.
_NEAR = 0.25
# Labels spread to this number of nearest images.
_GRAPH_NEIGHBORS = 10
# The fraction of an image's label distribution that comes from its neighbors.
_SPREAD = 0.9
# Enough to converge: 0.9 to this power is 0.005.
_STEPS = 50
# The batch size in which labels' influence on their own images is computed.
_BATCH_SIZE = 256
_LEAST = 1e-12


class Choice(NamedTuple):
  """The chosen images, from the most to the least useful cluster.

  Attributes:
    indices: int64 [chosen], indices of images.
    num_alike: int64 [chosen], the size of each image's cluster.
    num_considered: The number of images that were considered.
    num_duplicates: The number of images left out as near-duplicates.
  """

  indices: np.ndarray
  num_alike: np.ndarray
  num_considered: int
  num_duplicates: int


def choose_images(
  features: np.ndarray,
  number: int,
  *,
  labeled: np.ndarray | None = None,
  uncertainty: np.ndarray | None = None,
  seed: int = 0,
) -> Choice:
  """Chooses typical images to label, at most one per cluster of features.

  Near-duplicates count as one image, and near-duplicates of labeled images are
  not chosen. Fewer than `number` images are chosen if too few are distinct.

  Args:
    features: float [images, features], such as outputs of a pretrained network.
    number: The number of images to choose, at least 1.
    labeled: float [labeled, features], the features of images that have labels.
      Clusters that contain such an image are left out.
    uncertainty: float [images], the probability that the predicted class of an
      image is wrong. Clusters with the largest total uncertainty come first. By
      default, clusters with the most images come first.
    seed: The seed of k-means, and of the sample from a large pool.
  """
  if number < 1 or not len(features):
    raise ValueError(
      f'found {len(features)} images to choose {number} from; give one of each'
      ' at least'
    )
  if labeled is None:
    labeled = features[:0]
  weights = np.ones(len(features)) if uncertainty is None else uncertainty
  pool = np.arange(len(features))
  if len(pool) > MOST_IMAGES:
    generator = np.random.default_rng(seed)
    pool = np.sort(generator.choice(pool, MOST_IMAGES, replace=False))
  considered = np.concatenate([labeled, features[pool]])
  points = embed(considered)
  kept = _find_distinct(considered, points, len(labeled))
  points, pool = points[kept], pool[kept[len(labeled) :] - len(labeled)]
  num_duplicates = min(len(features), MOST_IMAGES) - len(pool)
  count = min(number + len(labeled), len(points))
  # Threads change the last bits of sums, and thus the choice.
  with threadpoolctl.threadpool_limits(1):
    k_means = cluster.KMeans(count, n_init=_STARTS, random_state=seed)
    clusters = k_means.fit_predict(points)
  found = []
  for each in np.setdiff1d(clusters, clusters[: len(labeled)]):
    members = np.flatnonzero(clusters == each)
    chosen = members[_find_typical(points[members])]
    inside = pool[members - len(labeled)]
    found.append(
      (weights[inside].sum(), len(inside), pool[chosen - len(labeled)])
    )
  found.sort(key=lambda each: each[0], reverse=True)
  found = found[:number]
  return Choice(
    np.array([each for _, _, each in found], np.int64),
    np.array([each for _, each, _ in found], np.int64),
    len(pool) + num_duplicates,
    num_duplicates,
  )


def embed(features: np.ndarray) -> np.ndarray:
  """Principal components, as unit vectors, float32 [images, components]."""
  features = np.asarray(features, np.float32)
  left, values, _ = extmath.randomized_svd(
    features - features.mean(axis=0),
    min(_COMPONENTS, *features.shape),
    random_state=0,
  )
  points = left * values
  lengths = np.linalg.norm(points, axis=1, keepdims=True)
  return points / np.maximum(lengths, np.finfo(np.float32).tiny)


def _find_distinct(
  features: np.ndarray, points: np.ndarray, num_fixed: int
) -> np.ndarray:
  """Sorted indices of images that are not near-duplicates of earlier images.

  The first `num_fixed` images are always included.
  """
  _, first = np.unique(features, axis=0, return_index=True)
  kept = np.union1d(first, np.arange(num_fixed))
  number = min(_NEIGHBORS, len(first) // 2)
  if not number:
    return kept
  search = neighbors.NearestNeighbors(algorithm='brute')
  distances, _ = search.fit(points[first]).kneighbors(n_neighbors=number)
  radius = _NEAR * float(np.median(distances[:, -1]))
  search.set_params(radius=radius).fit(points[kept])
  is_kept = np.ones(len(kept), bool)
  for each, near in enumerate(search.radius_neighbors(return_distance=False)):
    if is_kept[each]:
      is_kept[near[near > max(each, num_fixed - 1)]] = False
  return kept[is_kept]


def _find_typical(points: np.ndarray) -> int:
  """The index of the point with the least mean distance to its neighbors."""
  count = min(_NEIGHBORS, len(points) - 1)
  if not count:
    return 0
  search = neighbors.NearestNeighbors(n_neighbors=count).fit(points)
  distances, _ = search.kneighbors()
  return int(distances.mean(axis=1).argmin())


def check_labels(
  features: np.ndarray,
  labels: np.ndarray,
  num_classes: int,
  unlabeled: np.ndarray | None = None,
) -> np.ndarray:
  """Class probabilities of each labeled image, from the other images' labels.

  A class that no other image has gets probability 0.

  Args:
    features: float [images, features], such as outputs of a pretrained network.
    labels: int [images], in 0..num_classes-1.
    unlabeled: float [unlabeled, features], the features of similar images
      without labels, which improve the result. At most 20,000 are used.

  Returns:
    float64 [images, num_classes].
  """
  if unlabeled is None:
    unlabeled = features[:0]
  if len(unlabeled) > MOST_IMAGES:
    rows = np.random.default_rng(0).choice(
      len(unlabeled), MOST_IMAGES, replace=False
    )
    unlabeled = unlabeled[np.sort(rows)]
  # At unit length, images with strong and with weak features compare.
  units = preprocessing.normalize(np.concatenate([features, unlabeled]))
  graph = _connect(embed(units))
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
  """Normalized, symmetric weights of nearest neighbors, [points, points]."""
  number = min(_GRAPH_NEIGHBORS, len(points) - 1)
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
  """Propagates label weights over the graph, float64 as `sent`."""
  received = sent
  for _ in range(_STEPS):
    received = _SPREAD * (graph @ received) + sent
  return received
