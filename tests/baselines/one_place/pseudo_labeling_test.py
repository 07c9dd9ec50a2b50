# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pseudo-labeling in one place, against its formulas (F.5, S6)."""

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tests import pooled_reference

_THRESHOLD = 0.6


def _loss(step, num_sure, *, reproduce_mask):
  logits = step.f(step.weak())
  probabilities = tf.nn.softmax(tf.stop_gradient(logits)).numpy()
  is_sure = (probabilities > _THRESHOLD).any(axis=1)
  num_sure.append(is_sure.sum())
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  losses = pooled_reference.cross_entropy(labels, logits)
  if reproduce_mask:
    # The code multiplies a row by a column.
    losses = losses * is_sure[:, None]
    assert losses.shape == (8, 8)
  else:
    losses = losses * is_sure
  ramp = min(step.progress / 0.4, 1)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 2 * ramp * tf.reduce_mean(losses)


class PseudoLabelingTest(parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_equals_the_formula_s6(self, reproduce_mask):
    num_sure = []
    pooled_reference.assert_system_equals(
      'pseudo_labeling',
      {
        'confidence_threshold': _THRESHOLD,
        'unlabeled_loss_weight': 2,
        'reproduce_mask': reproduce_mask,
      },
      lambda step: _loss(step, num_sure, reproduce_mask=reproduce_mask),
      ratio=2,
    )
    # Each of six steps has eight unlabeled images.
    self.assertBetween(sum(num_sure), 5, 6 * 8 - 5)


if __name__ == '__main__':
  absltest.main()
