# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that classes without images are not trained away (D53)."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.work import supervised_training


class MaskAbsentTest(tf.test.TestCase):
  def test_logits_of_absent_classes_are_0_and_have_no_gradient(self):
    logits = tf.constant([[1.0, 2.0, 3.0, 4.0], [-5.0, -6.0, -7.0, -8.0]])
    # Labels of all images, not of the batch.
    labels = tf.constant([3, 1, 1, 3, 3])
    with tf.GradientTape() as tape:
      tape.watch(logits)
      masked = supervised_training.mask_absent(logits, labels)
    self.assertAllEqual(masked, [[0, 2, 0, 4], [0, -6, 0, -8]])
    self.assertAllEqual(
      tape.gradient(masked, logits), np.tile([0, 1, 0, 1], [2, 1])
    )


if __name__ == '__main__':
  absltest.main()
