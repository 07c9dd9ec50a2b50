# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of a classifier by held-out labels."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import server_labels


def _one_hot(labels):
  return tf.one_hot(labels, max(labels) + 1, dtype=tf.float64)


class ScoresTest(absltest.TestCase):
  def test_right_likelihood_and_temperature_are_of_labels_held_out(self):
    generator = np.random.default_rng(0)
    labels = np.append(np.arange(24) % 3, 3)  # The last is never held out.
    logits = generator.normal(size=(3, server_labels.REPLICAS, 25, 4))
    logits[1] += 3 * np.eye(4)[labels]
    scores = choice.score(tf.constant(logits), _one_hot(labels))
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

  def test_errors_of_differences(self):
    labels = np.arange(20) % 2
    good = np.zeros((server_labels.REPLICAS, 20, 2)) + 2 * np.eye(2)[labels]
    one_wrong, many_wrong = good.copy(), good.copy()
    one_wrong[:, 0] *= -1
    many_wrong[:, :8] *= -1

    def score(*candidates):
      return choice.score(tf.constant(np.stack(candidates)), _one_hot(labels))

    # One of 20: the sum -1 is not below its error, sqrt(0.95).
    differences = np.array([-1.0] + 19 * [0.0])
    error = np.sqrt(np.sum((differences - differences.mean()) ** 2))
    self.assertEqual(
      score(good, one_wrong, good).is_mixture_behind, differences.sum() < -error
    )
    self.assertTrue(score(good, many_wrong, good).is_mixture_behind)
    self.assertFalse(score(many_wrong, good, good).is_mixture_behind)
    # The head has to be likelier than both.
    self.assertTrue(score(many_wrong, many_wrong, good).is_head_likelier)
    self.assertFalse(score(many_wrong, good, good).is_head_likelier)
    self.assertFalse(score(good, many_wrong, one_wrong).is_head_likelier)


class ChoiceTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], True),
    ([0, 0, 1, 1, 2, 2, 0, 0, 1], False),
    ([0, 0, 1, 1, 2, 0, 0, 1, 1, 0], False),
  )
  def test_can_choose(self, labels, expected):
    self.assertEqual(choice.can_choose(_one_hot(labels)), expected)

  @parameterized.parameters(
    # The mixture, unless it is behind.
    ([5, 5, 4], False, True, 1),
    ([5, 2, 4], True, True, 0),
    # The head, with as many right and likelier.
    ([5, 6, 6], False, True, 2),
    ([5, 6, 9], False, False, 1),
    ([5, 2, 6], True, True, 2),
  )
  def test_finds_best(self, right, is_behind, is_likelier, expected):
    scores = choice.Scores(
      num_held_out=tf.constant(10.0, tf.float64),
      num_right=tf.constant(right, tf.float64),
      likelihood=tf.zeros([3], tf.float64),
      temperature=tf.ones([3], tf.float64),
      is_mixture_behind=tf.constant(is_behind),
      is_head_likelier=tf.constant(is_likelier),
    )
    self.assertEqual(choice.find_best(scores), expected)

  @parameterized.parameters(
    (0.005, 1.0, False),
    (0.006, 1.0, True),
    (0.006, -1.0, False),
    (0.03, -1.0, True),
  )
  def test_images_differ(self, spread, server_spread, expected):
    self.assertEqual(choice.images_differ(spread, server_spread), expected)


if __name__ == '__main__':
  absltest.main()
