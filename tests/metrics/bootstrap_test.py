# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of bootstrap intervals: against Wilson's, and on degenerate images."""

from absl.testing import absltest
import numpy as np

from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric


def _logits(is_right):
  """Logits of two classes, of images of class 0."""
  return np.stack([is_right, 1 - is_right], axis=1).astype(np.float32)


class BootstrapTest(absltest.TestCase):
  def test_of_an_accuracy_is_near_wilsons(self):
    is_right = np.arange(400) < 280
    found = intervals.bootstrap(
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
      intervals.bootstrap(metric.auc, labels, logits, seed=seed)
      for seed in (0, 0, 1)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, other)
    self.assertBetween(metric.auc(labels, logits), *first)

  def test_samples_of_one_class_have_no_auc(self):
    labels = np.array([0, 1, 1])
    logits = np.array([[2, 0], [0, 2], [0, 3]])
    found = intervals.bootstrap(metric.auc, labels, logits)
    self.assertEqual(found, (1, 1))
    found = intervals.bootstrap(metric.auc, labels[1:], logits[1:])
    self.assertTrue(np.isnan(found).all())


if __name__ == '__main__':
  absltest.main()
