# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of Mean Teacher in one place, against its formula (F.4)."""

from absl.testing import absltest
import tensorflow as tf

from tests import pooled_reference


def _loss(step):
  target = tf.nn.softmax(step.teacher(step.weak(0)))
  difference = target - tf.nn.softmax(step.f(step.weak(1)))
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 20 * tf.reduce_mean(difference**2)


class MeanTeacherTest(absltest.TestCase):
  def test_equals_the_formula(self):
    pooled_reference.assert_system_equals(
      'mean_teacher',
      # The full weight from the first step on.
      {'unlabeled_loss_weight': 20, 'ramp_up_share': 0},
      _loss,
      ratio=2,
    )


if __name__ == '__main__':
  absltest.main()
