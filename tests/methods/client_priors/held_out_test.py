# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of labels held out, and of the choice by them."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tests.methods.client_priors import numpy_reference
from tff_semifl.methods.client_priors import held_out


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
    fold = held_out.assign(_one_hot(labels)).numpy()
    np.testing.assert_array_equal(fold, numpy_reference.fold_of(labels))
    for label in np.unique(labels):
      sizes = np.bincount(fold[labels == label] + 1, minlength=6)[1:]
      self.assertLessEqual(sizes.max() - sizes.min(), 1)
    weights = held_out.weigh(_one_hot(labels)).numpy()
    np.testing.assert_allclose(weights, numpy_reference.replicate(labels))
    for replica in range(held_out.FOLDS):
      np.testing.assert_array_equal(weights[1 + replica][fold == replica], 0)
      # Classes weigh what they weigh with all labels.
      np.testing.assert_allclose(
        weights[1 + replica] @ _one_hot(labels).numpy(), np.bincount(labels)
      )

  @parameterized.parameters(
    ([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], True),
    ([0, 0, 1, 1, 2, 2, 0, 0, 1], False),
    ([0, 0, 1, 1, 2, 0, 0, 1, 1, 0], False),
  )
  def test_can_choose(self, labels, expected):
    self.assertEqual(held_out.can_choose(_one_hot(labels)), expected)


class ScoresTest(absltest.TestCase):
  def test_right_likelihood_and_temperature_are_of_labels_held_out(self):
    generator = np.random.default_rng(0)
    labels = np.append(np.arange(24) % 3, 3)  # The last is never held out.
    logits = generator.normal(size=(4, held_out.REPLICAS, 25, 4))
    logits[1] += 3 * np.eye(4)[labels]
    scores = held_out.score(tf.constant(logits), _one_hot(labels))
    self.assertEqual(scores.num_held_out, 24)
    fold = numpy_reference.fold_of(labels)[:24]
    found = logits[:, fold + 1, np.arange(24)]
    right = found.argmax(axis=-1) == labels[:24]
    np.testing.assert_array_equal(scores.num_right, right.sum(axis=1))
    temperatures = np.geomspace(0.05, 20, 61)
    tempered = np.stack(
      [
        special.log_softmax(found / temperature, axis=-1)[
          :, np.arange(24), labels[:24]
        ]
        for temperature in temperatures
      ]
    )
    np.testing.assert_allclose(
      scores.likelihood, tempered.mean(axis=-1).max(axis=0)
    )
    prior = -0.5 * ((np.log(temperatures) + 0.3) / 0.3) ** 2
    np.testing.assert_allclose(
      scores.temperature,
      temperatures[(tempered.sum(axis=-1) + prior[:, None]).argmax(axis=0)],
    )
    np.testing.assert_array_equal(scores.is_behind[0, :2], [False, False])

  def test_a_candidate_is_behind_by_more_than_the_error(self):
    labels = np.arange(20) % 2
    good = np.zeros((held_out.REPLICAS, 20, 2)) + 2 * np.eye(2)[labels]
    one_wrong, many_wrong = good.copy(), good.copy()
    one_wrong[:, 0] *= -1
    many_wrong[:, :8] *= -1
    scores = held_out.score(
      tf.constant(np.stack([good, one_wrong, many_wrong, good])),
      _one_hot(labels),
    )
    # One of 20: the sum -1 is not below its error, sqrt(0.95).
    differences = np.array([-1.0] + 19 * [0.0])
    error = np.sqrt(np.sum((differences - differences.mean()) ** 2))
    self.assertEqual(scores.is_behind[0, 1], differences.sum() < -error)
    self.assertTrue(scores.is_behind[0, 2])
    self.assertFalse(scores.is_behind[0, 3])
    # The other way round, eight of 20 are ahead by more than two errors.
    turned = held_out.score(
      tf.constant(np.stack([many_wrong, one_wrong, many_wrong, good])),
      _one_hot(labels),
    )
    np.testing.assert_array_equal(
      turned.is_ahead[0], [False, True, False, True]
    )


class ChoiceTest(parameterized.TestCase):
  def _choose(
    self, right, likelihood, pairs, may=True, shifted=False, agree=False
  ):
    """Chooses; `pairs` are those of candidates of which a test says yes."""

    def table(name):
      found = np.zeros((4, 4), bool)
      for kind, first, second in pairs:
        found[first, second] |= kind == name
      return tf.constant(found)

    scores = held_out.Scores(
      tf.constant(10.0, tf.float64),
      tf.constant(right, tf.float64),
      tf.constant(likelihood, tf.float64),
      tf.ones([4], tf.float64),
      *map(table, ('behind', 'ahead', 'likelier')),
    )
    return held_out.choose(scores, *map(tf.constant, (may, shifted, agree)))

  @parameterized.parameters(
    # The mixture, unless it is behind.
    ([5, 5, 4, 4], [-1, -1.1, -2, -2], (), 1),
    ([5, 2, 4, 4], [-1, -3, -2, -2], (('behind', 0, 1),), 0),
    # Its head with as many right that is likelier, or the other head.
    ([5, 6, 6, 4], [-1, -1, -0.5, -0.1], (), 2),
    ([5, 6, 5, 7], [-1, -1, -0.5, -0.1], (), 3),
    ([5, 6, 9, 9], [-1, -1, -1.5, -1.1], (), 1),
    ([5, 2, 6, 4], [-1, -3, -0.5, -2], (('behind', 0, 1),), 2),
    # Of two heads the mixture's, unless the other is clearly likelier.
    ([5, 6, 6, 7], [-1, -1, -0.5, -0.1], (), 2),
    ([5, 6, 6, 7], [-1, -1, -0.5, -0.1], (('likelier', 2, 3),), 3),
    ([5, 6, 8, 7], [-1, -1, -0.5, -0.1], (('likelier', 2, 3),), 2),
  )
  def test_by_labels(self, right, likelihood, pairs, expected):
    self.assertEqual(self._choose(right, likelihood, pairs), expected)
    self.assertEqual(self._choose(right, likelihood, pairs, may=False), 0)

  @parameterized.parameters(
    ((), 2), ((('behind', 0, 2),), 1), ((('behind', 1, 2),), 1)
  )
  def test_head_where_class_shares_agree(self, pairs, expected):
    values = [5, 6, 5, 4], [-1, -1, -1.1, -2]
    self.assertEqual(self._choose(*values, pairs, agree=True), expected)
    self.assertEqual(self._choose(*values, pairs), 1)

  def test_where_images_differ(self):
    values = [5, 6, 9, 9], [-1, -0.7, -0.8, -0.9]
    ahead = (('ahead', 0, 2), ('ahead', 0, 3))
    self.assertEqual(self._choose(*values, ahead, shifted=True), 2)
    self.assertEqual(self._choose(*values, (), shifted=True), 0)

  def test_shares_agree(self):
    labels = np.full(10, 0.1)
    found = np.array([0.12, 0.08, *[0.1] * 8])
    divergence = 0.12 * np.log(1.2) + 0.08 * np.log(0.8)
    self.assertEqual(
      held_out.shares_agree(tf.constant(found), tf.constant(labels)),
      divergence < 0.002,
    )
    self.assertTrue(
      held_out.shares_agree(tf.constant(labels), tf.constant(labels))
    )


if __name__ == '__main__':
  absltest.main()
