# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of folds, and of regressions on the labels, against scikit-learn."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from sklearn import linear_model
from sklearn import metrics
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import server_labels

_PENALTIES = (0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


def _one_hot(labels):
  return tf.one_hot(labels, max(labels) + 1, dtype=tf.float64)


class FoldsTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 0, 1, 1, 2, 2],),
    ([2, 0, 1, 1, 0, 2, 2, 2, 0, 1, 1],),
    ([0, 1, 1, 2, 1, 1, 1, 1, 1, 2],),
  )
  def test_folds_and_weights(self, labels):
    labels = np.array(labels)
    fold = server_labels.assign(_one_hot(labels)).numpy()
    np.testing.assert_array_equal(fold, numpy_reference.fold_of(labels))
    for label in np.unique(labels):
      sizes = np.bincount(fold[labels == label] + 1, minlength=6)[1:]
      self.assertLessEqual(sizes.max() - sizes.min(), 1)
    weights = server_labels.weigh(_one_hot(labels)).numpy()
    np.testing.assert_allclose(weights, numpy_reference.replicate(labels))
    for replica in range(server_labels.FOLDS):
      np.testing.assert_array_equal(weights[1 + replica][fold == replica], 0)
      # Each class has the same weight as with all labels.
      np.testing.assert_allclose(
        weights[1 + replica] @ _one_hot(labels).numpy(), np.bincount(labels)
      )


def _draw(examples, features, scale):
  generator = np.random.default_rng(1)
  labels = np.arange(examples) % 3
  centers = 1.5 * generator.normal(size=(3, features))
  noise = 2 * generator.normal(size=(examples, features))
  return scale * (centers[labels] + noise) + 7, labels


def _fit(x, labels, weights, penalty):
  model = linear_model.LogisticRegression(
    C=1 / penalty, tol=1e-8, max_iter=5000
  )
  return model.fit(x, labels, sample_weight=weights)


class LabelsAloneTest(parameterized.TestCase):
  @parameterized.parameters(
    (40, 6, np.ones(6)),
    (40, 6, np.array([100, 1, 1, 1, 1, 1e-3])),
    # There are more features than labels.
    (24, 60, np.ones(60)),
  )
  def test_scale_and_penalty_are_the_likeliest_of_labels_held_out(
    self, examples, features, scale
  ):
    x, labels = _draw(examples, features, scale)
    fold = numpy_reference.fold_of(labels)
    weights = numpy_reference.replicate(labels)
    losses, fits = {}, {}
    for standardizes in (False, True):
      scaled = x - x.mean(axis=0)
      if standardizes:
        scaled /= x.std(axis=0)
      rank = min(examples - 1, features)
      scaled /= np.sqrt(np.sum(scaled**2) / (examples * rank))
      for penalty in _PENALTIES:
        loss = 0.0
        for held_out in range(numpy_reference.FOLDS):
          model = _fit(scaled, labels, weights[1 + held_out], penalty)
          is_held = fold == held_out
          loss += metrics.log_loss(
            labels[is_held],
            model.predict_proba(scaled[is_held]),
            normalize=False,
            labels=[0, 1, 2],
          )
        losses[standardizes, penalty] = loss
        fits[standardizes, penalty] = scaled
    best = min(losses, key=losses.get)
    found = server_labels.fit(tf.constant(x), _one_hot(labels))
    self.assertEqual(found.standardizes, best[0])
    for replica in (0, 3):
      expected = _fit(fits[best], labels, weights[replica], best[1])
      raw = found.weights[replica].numpy()
      logits = x @ raw[:-1] + raw[-1]
      np.testing.assert_allclose(
        tf.nn.softmax(logits), expected.predict_proba(fits[best]), atol=1e-3
      )

  def test_one_label_of_each_class_and_a_constant_column(self):
    x, labels = _draw(3, 4, 1.0)
    x[:, 2] = 5
    weights = server_labels.fit(tf.constant(x), _one_hot(labels)).weights
    np.testing.assert_array_equal(weights[:, 2], 0)
    raw = weights[0].numpy()
    np.testing.assert_array_equal(
      np.argmax(x @ raw[:-1] + raw[-1], axis=1), labels
    )

  def test_one_class_with_two_labels_is_not_favored(self):
    labels = [0, 1, 2, 3, 4, 5, 0]
    noise = np.random.default_rng(0).normal(size=(7, 12))
    x = 3 * np.eye(6, 12)[labels] + noise
    raw = server_labels.fit(tf.constant(x), _one_hot(labels)).weights[0].numpy()
    found = np.argmax(x @ raw[:-1] + raw[-1], axis=1)
    np.testing.assert_array_equal(found, labels)


if __name__ == '__main__':
  absltest.main()
