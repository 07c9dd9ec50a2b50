# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch in one place, against its formula (F.5)."""

from absl.testing import absltest
import tensorflow as tf

from tests import pooled_reference

_THRESHOLD = 0.6


def _loss(step, num_sure):
  num, ratio = pooled_reference.BATCH_SIZE, 2
  # All images form one batch, which is normalized together.
  logits = step.f(tf.concat([step.x, step.weak(), step.strong()], axis=0))
  x, weak, strong = tf.split(logits, [num, ratio * num, ratio * num])
  probabilities = tf.nn.softmax(tf.stop_gradient(weak)).numpy()
  is_sure = probabilities.max(axis=1) >= _THRESHOLD
  num_sure.append(is_sure.sum())
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, x)
  ) + 0.5 * tf.reduce_mean(
    is_sure * pooled_reference.cross_entropy(labels, strong)
  )


class FixMatchTest(absltest.TestCase):
  def test_equals_the_formula(self):
    num_sure = []
    pooled_reference.assert_system_equals(
      'fixmatch',
      {'confidence_threshold': _THRESHOLD, 'unlabeled_loss_weight': 0.5},
      lambda step: _loss(step, num_sure),
      ratio=2,
    )
    # Each of six steps has eight unlabeled images.
    self.assertBetween(sum(num_sure), 5, 6 * 8 - 5)


if __name__ == '__main__':
  absltest.main()
