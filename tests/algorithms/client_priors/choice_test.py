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


class ScoresTest(parameterized.TestCase):
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

  @parameterized.parameters(
    # The mixture, unless it is behind: one of 20 is above the error sqrt(0.95).
    ('good', 'good', 'good', 1),
    ('good', 'one_wrong', 'good', 0),
    ('good', 'many_wrong', 'one_wrong', 0),
    # The head, if it is likelier than both.
    ('many_wrong', 'good', 'good', 1),
    ('many_wrong', 'one_wrong', 'good', 2),
    ('many_wrong', 'many_wrong', 'good', 2),
  )
  def test_best(self, alone, mixture, head, expected):
    labels = np.arange(20) % 2
    signs = {'good': np.ones(20), 'one_wrong': np.ones(20)}
    signs['many_wrong'] = np.where(np.arange(20) < 8, -1, 1)
    signs['one_wrong'][0] = -1
    logits = [
      np.tile(
        2 * np.eye(2)[labels] * signs[name][:, None],
        (server_labels.REPLICAS, 1, 1),
      )
      for name in (alone, mixture, head)
    ]
    scores = choice.score(tf.constant(np.stack(logits)), _one_hot(labels))
    self.assertEqual(scores.best, expected)


class ChoiceTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], True),
    ([0, 0, 1, 1, 2, 2, 0, 0, 1], False),
    ([0, 0, 1, 1, 2, 0, 0, 1, 1, 0], False),
  )
  def test_can_choose(self, labels, expected):
    self.assertEqual(choice.can_choose(_one_hot(labels)), expected)

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
