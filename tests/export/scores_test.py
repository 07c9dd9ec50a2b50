# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of counting what a model gets right, with a model of three answers."""

import math

from absl.testing import absltest
import numpy as np

from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib

# For images of gray level 0, 1 and 2.
_ANSWERS = np.float32([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [1, 0, 0]])


class _Model(exported_model.ExportedModel):
  class_names = ('cat', 'dog', 'owl')
  num_channels = 1

  def predict(self, images):
    return _ANSWERS[images[:, 0, 0, 0]]


def _batch(levels, labels):
  images = np.zeros([len(levels), 2, 2, 1], np.uint8)
  images += np.uint8(levels)[:, np.newaxis, np.newaxis, np.newaxis]
  return images, np.array(labels)


class ScoresTest(absltest.TestCase):
  def test_counts_and_loss_over_all_batches(self):
    scores = scores_lib.score(
      _Model(), [_batch([0, 0, 1], [0, 1, 1]), _batch([1], [0])]
    )
    # Two cats, of which one is taken for a dog; two dogs, one for a cat.
    np.testing.assert_array_equal(
      scores.confusion, [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    )
    self.assertEqual(scores.num_images, 4)
    self.assertEqual(scores.accuracy, 0.5)
    self.assertEqual(scores.class_sizes.tolist(), [2, 2, 0])
    self.assertEqual(scores.class_accuracies, [0.5, 0.5, None])
    self.assertAlmostEqual(
      scores.loss,
      -(math.log(0.5) + math.log(0.25) + math.log(0.8) + math.log(0.1)) / 4,
      places=6,
    )

  def test_floors_of_confidence(self):
    scores = scores_lib.score(
      _Model(), [_batch([0, 0, 1], [0, 1, 1]), _batch([1, 2], [0, 0])]
    )
    # Confidences of 0.5 (right and wrong), 0.8 (likewise), and 1 (right).
    self.assertEqual(scores_lib.FLOORS, (0.5, 0.8, 0.9, 0.95, 0.99))
    self.assertEqual(
      scores.confident.tolist(), [[5, 3], [3, 2], [1, 1], [1, 1], [1, 1]]
    )

  def test_what_is_held_to_be_impossible_costs_much_but_not_all(self):
    scores = scores_lib.score(_Model(), [_batch([2], [1])])
    self.assertAlmostEqual(scores.loss, 7 * math.log(10))


if __name__ == '__main__':
  absltest.main()
