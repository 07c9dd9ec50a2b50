# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of class shares, and of draws in which classes are balanced."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.core import server_work
from tff_semifl.training import rows

_LABELS = np.repeat([0, 3, 4], [16, 3, 1]).astype(np.int32)


class ClassBalanceTest(absltest.TestCase):
  def test_log_shares_have_at_least_one_label_of_each_class(self):
    found = server_work.log_shares(tf.constant(_LABELS), 5)
    counts = np.array([16, 1, 1, 3, 1])
    np.testing.assert_allclose(found, np.log(counts / 22), rtol=1e-6)

  def test_draws_all_classes_and_all_images_of_a_class_alike(self):
    examples = rows.Rows((tf.range(20),))
    drawn = np.concatenate(
      [
        server_work.draw_balanced(
          examples, tf.constant(_LABELS), tf.constant([7, number])
        ).examples[0]
        for number in range(200)
      ]
    )
    self.assertLen(drawn, 200 * 20)
    counts = np.bincount(drawn, minlength=20)
    # Of 4000 draws a class has 1333, with a standard deviation of 30; each of
    # its images an equal share.
    for label, size in ((0, 16), (3, 3), (4, 1)):
      of_class = counts[_LABELS == label]
      self.assertBetween(of_class.sum(), 1333 - 120, 1333 + 120)
      mean = 4000 / 3 / size
      self.assertLess(np.abs(of_class - mean).max(), 4 * mean**0.5)

  def test_draws_nothing_of_nothing(self):
    labels = tf.constant([], tf.int32)
    drawn = server_work.draw_balanced(
      rows.Rows((labels,)), labels, tf.constant([1, 2])
    )
    self.assertEqual(drawn.number, 0)


if __name__ == '__main__':
  absltest.main()
