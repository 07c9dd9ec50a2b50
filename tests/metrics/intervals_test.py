# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of 95% confidence intervals."""

import math

from absl.testing import absltest
import numpy as np

from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric
from tff_semifl.results import summary


class IntervalsTest(absltest.TestCase):
  def test_accuracy(self):
    # Newcombe (Statistics in Medicine 17, 1998), Table I, method 3.
    for num_right, num_images, low, high in (
      (81, 263, 0.2553, 0.3662),
      (15, 148, 0.0624, 0.1605),
      (0, 20, 0.0, 0.1611),
      (1, 29, 0.0061, 0.1718),
    ):
      found = intervals.of_accuracy(num_right, num_images)
      np.testing.assert_allclose(found, (low, high), atol=5e-5)

  def test_mean_is_students(self):
    # The 97.5% quantile of t with two degrees of freedom is 4.3027.
    half = 4.3027 / math.sqrt(3)
    np.testing.assert_allclose(
      summary.of_mean([1.0, 2.0, 3.0]), (2 - half, 2 + half), atol=1e-4
    )

  def test_difference_is_that_of_agresti_and_min(self):
    # 3 of 10 images are gained, and 1 is lost. With halves added, 3.5 and 1.5
    # of 12: the mean is 2/12, the variance of an image 5/12 - (2/12)^2 =
    # 0.388889.
    before = np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0], bool)
    after = np.array([0, 1, 1, 1, 1, 1, 1, 0, 0, 0], bool)
    half = 1.959964 * math.sqrt(0.388889 / 12)
    np.testing.assert_allclose(
      intervals.of_difference(before, after),
      (2 / 12 - half, 2 / 12 + half),
      atol=1e-6,
    )

  def test_one_image_of_few_says_nothing(self):
    before, after = np.ones(24, bool), np.ones(24, bool)
    before[7] = False
    low, high = intervals.of_difference(before, after)
    self.assertLess(low, 0)
    self.assertGreater(high, 1 / 24)
    # Two models with the same correct predictions do not differ.
    low, high = intervals.of_difference(after, after)
    self.assertLess(low, -0.05)
    self.assertAlmostEqual(high, -low)

  def test_standard_error(self):
    # Deviations from the mean are -3, 1 and 2: sqrt(14/2) / sqrt(3).
    self.assertAlmostEqual(
      summary.standard_error([0.80, 0.84, 0.85]),
      math.sqrt(7) / math.sqrt(3) / 100,
    )

  def test_says_of_what_an_accuracy_is(self):
    text = intervals.describe(0.5, [2, 2, 0, 4])
    self.assertStartsWith(text, '50.0% of 8 images of 3 of 4 classes (')
    # Wilson's interval, by hand: 0.5 +- 1.96 / 2 / sqrt(8 + 1.96^2).
    self.assertIn('21.5% to 78.5%', text)
    self.assertNotIn('classes', intervals.describe(0.5, [4, 4]))
    self.assertEqual(intervals.show(0, 0), 'no images')


def _logits(is_right):
  """Logits of two classes, for images of class 0."""
  return np.stack([is_right, 1 - is_right], axis=1).astype(np.float32)


class BootstrapTest(absltest.TestCase):
  def test_of_an_accuracy_is_near_wilsons(self):
    is_right = np.arange(400) < 280
    found = metric.bootstrap(
      metric.accuracy, np.zeros(400, int), _logits(is_right)
    )
    np.testing.assert_allclose(
      found, intervals.of_accuracy(280, 400), atol=0.01
    )

  def test_is_the_same_for_a_seed_and_another_for_another(self):
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=50)
    logits = generator.normal(size=[50, 3])
    first, again, other = (
      metric.bootstrap(metric.auc, labels, logits, seed=seed)
      for seed in (0, 0, 1)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, other)
    self.assertBetween(metric.auc(labels, logits), *first)

  def test_samples_of_one_class_have_no_auc(self):
    labels = np.array([0, 1, 1])
    logits = np.array([[2, 0], [0, 2], [0, 3]])
    found = metric.bootstrap(metric.auc, labels, logits)
    self.assertEqual(found, (1, 1))
    found = metric.bootstrap(metric.auc, labels[1:], logits[1:])
    self.assertTrue(np.isnan(found).all())


if __name__ == '__main__':
  absltest.main()
