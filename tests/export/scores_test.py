# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of scores, with a model of three fixed outputs."""

import math

from absl.testing import absltest
import numpy as np

from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib

_ANSWERS = np.float32([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [1, 0, 0]])


class _Model(exported_model.ExportedModel):
  class_names = ('cat', 'dog', 'owl')
  image_shape = (2, 2, 1)

  def predict(self, images):
    return _ANSWERS[images[:, 0, 0, 0]]


def _batch(levels, labels):
  images = np.zeros([len(levels), 2, 2, 1], np.uint8)
  images += np.uint8(levels)[:, np.newaxis, np.newaxis, np.newaxis]
  return images, np.array(labels)


class ScoresTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._scores = scores_lib.score(
      _Model(), [_batch([0, 0, 1], [0, 1, 1]), _batch([1, 2], [0, 0])]
    )

  def test_counts_and_loss_over_all_batches(self):
    scores = self._scores
    # Three cats, of which one is predicted as dog; two dogs, one predicted as
    # cat.
    np.testing.assert_array_equal(
      scores.confusion, [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    )
    self.assertEqual(scores.num_images, 5)
    self.assertEqual(scores.accuracy, 0.6)
    self.assertEqual(scores.class_sizes.tolist(), [3, 2, 0])
    self.assertAlmostEqual(
      scores.loss,
      -(math.log(0.5) + math.log(0.25) + math.log(0.8) + math.log(0.1)) / 5,
      places=6,
    )
    classes = scores.to_dict(('cat', 'dog', 'owl'))['classes']
    self.assertEqual(classes['dog'], {'num_images': 2, 'accuracy': 0.5})
    self.assertIsNone(classes['owl']['accuracy'])

  def test_metrics_that_accuracy_hides(self):
    measured = self._scores.measure()
    # Recall: two of three cats, and one of two dogs.
    self.assertAlmostEqual(
      measured['balanced_accuracy'].value, (2 / 3 + 1 / 2) / 2
    )
    # Precision: two of three images predicted as cats, and one of two as dogs.
    self.assertAlmostEqual(
      measured['macro_f1'].value, (4 / (4 + 1 + 1) + 2 / (2 + 1 + 1)) / 2
    )
    for value, low, high in measured.values():
      self.assertBetween(value, low, high)

  def test_calibration_error(self):
    scores = self._scores
    # Two images at 0.5, one correct; two at 0.8, one correct; one at 1,
    # correct.
    self.assertAlmostEqual(
      scores.calibration_error, (2 * 0 + 2 * (0.8 - 0.5) + 0) / 5, places=6
    )
    # Of two images at 0.5, the number of correct ones is 0, 1 or 2 with
    # probability 1/4, 1/2, 1/4, and differs from its mean by 1/2 on average. At
    # 0.8 the probabilities are 0.04, 0.32, 0.64, and the mean difference is 1.6
    # * 0.04 + 0.6 * 0.32 + 0.4 * 0.64 = 0.512. One image at 1 is always
    # correct.
    self.assertAlmostEqual(
      scores.calibration_error_by_chance, (0.5 + 0.512 + 0) / 5, places=6
    )
    self.assertAlmostEqual(scores.mean_confidence, (1 + 1.6 + 1) / 5, places=6)

  def test_confidences_of_one_bin_are_taken_together(self):
    class Model(_Model):
      def predict(self, images):
        return np.float32([[0.61, 0.39, 0], [0.65, 0.35, 0], [0.7, 0.3, 0]])

    # The tenth of 15 bins, 9/15 to 10/15, has the first two images.
    scores = scores_lib.score(Model(), [_batch([0, 0, 0], [0, 1, 0])])
    self.assertAlmostEqual(
      scores.calibration_error,
      (abs(1 - 0.61 - 0.65) + abs(1 - 0.7)) / 3,
      places=6,
    )

  def test_what_is_held_to_be_impossible_costs_much_but_not_all(self):
    scores = scores_lib.score(_Model(), [_batch([2], [1])])
    self.assertAlmostEqual(scores.loss, 7 * math.log(10))


if __name__ == '__main__':
  absltest.main()
