# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the probability of each label, given all other labels."""

from absl.testing import absltest
import numpy as np
from sklearn import datasets

from tff_semifl.data import assisted_labeling


def _by_inverse(features, labels, num_classes, unlabeled):
  """The definition, with dense matrices and a loop over left-out labels."""
  images = np.concatenate([features, unlabeled])
  lengths = np.linalg.norm(images, axis=1, keepdims=True)
  points = assisted_labeling.embed(images / lengths)
  distances = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
  np.fill_diagonal(distances, np.inf)
  nearest = np.argsort(distances, axis=1)[:, :10]
  scale = np.median(np.take_along_axis(distances, nearest[:, -1:], axis=1))
  graph = np.zeros_like(distances)
  for row, near in enumerate(nearest):
    graph[row, near] = np.exp(-((distances[row, near] / scale) ** 2))
  graph = np.maximum(graph, graph.T)
  root = np.sqrt(graph.sum(axis=0))
  spread = np.linalg.inv(
    np.eye(len(points)) - 0.9 * graph / np.outer(root, root)
  )
  targets = np.zeros([len(points), num_classes])
  targets[np.arange(len(labels)), labels] = 1
  mass = (spread @ targets).sum(axis=0)
  rows = []
  for left_out in range(len(labels)):
    others = targets.copy()
    others[left_out] = 0
    rows.append((spread @ others)[left_out] / mass)
  return np.array(rows) / np.sum(rows, axis=1, keepdims=True)


class CheckLabelsTest(absltest.TestCase):
  def test_probabilities_are_those_of_the_definition(self):
    x, labels = datasets.load_digits(return_X_y=True)
    arguments = (x[:40], labels[:40], 10)
    found = assisted_labeling.check_labels(*arguments, x[40:240])
    expected = _by_inverse(*arguments, x[40:240])
    np.testing.assert_allclose(found, expected, atol=0.01)

  def test_wrong_labels_are_first(self):
    x, labels = datasets.load_digits(return_X_y=True)
    given = labels[:40].copy()
    given[[7, 21]] = (given[[7, 21]] + 3) % 10
    found = assisted_labeling.check_labels(x[:40], given, 10, x[40:1000])
    self.assertContainsSubset(
      (7, 21), found[np.arange(40), given].argsort()[:5]
    )
    self.assertEqual(found[7].argmax(), labels[7])

  def test_few_labels(self):
    x = np.eye(3, dtype=np.float32)
    found = assisted_labeling.check_labels(x, np.array([0, 1, 1]), 3)
    # The only image of class 0 gets nothing from its own label, and no image
    # has class 2.
    np.testing.assert_allclose(found[0], [0, 1, 0], atol=1e-6)
    alone = assisted_labeling.check_labels(x[:1], np.array([1]), 2)
    self.assertTrue(np.isfinite(alone).all())
