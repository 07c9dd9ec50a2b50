# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of UDA in one place, against its formulas (F.6, S8)."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import pooled_reference
from tff_semifl.baselines.one_place import uda

_THRESHOLD = 0.6
_TEMPERATURE = 0.4


def _loss(step, num_sure, num_left_out):
  num, ratio = pooled_reference.BATCH_SIZE, 2
  logits = step.f(tf.concat([step.x, step.weak(), step.strong()], axis=0))
  x, weak, strong = tf.split(logits, [num, ratio * num, ratio * num])
  weak = tf.stop_gradient(weak)
  # Confidence is that of predictions before sharpening.
  is_sure = tf.nn.softmax(weak).numpy().max(axis=1) >= _THRESHOLD
  num_sure.append(is_sure.sum())
  target = tf.nn.softmax(weak / _TEMPERATURE)
  divergence = tf.reduce_sum(
    target * (tf.math.log(target) - tf.nn.log_softmax(strong)), axis=1
  )
  annealed = 1 / 3 + step.progress * 2 / 3
  of_class = (tf.nn.softmax(x).numpy() * step.y).sum(axis=1)
  is_kept = of_class <= annealed
  num_left_out.append((~is_kept).sum())
  supervised = tf.reduce_sum(
    is_kept * pooled_reference.cross_entropy(step.y, x)
  ) / max(is_kept.sum(), 1)
  return supervised + 2 * tf.reduce_mean(is_sure * divergence)


class UDATest(parameterized.TestCase):
  def test_equals_the_formula(self):
    num_sure, num_left_out = [], []
    pooled_reference.assert_system_equals(
      'uda',
      {
        'confidence_threshold': _THRESHOLD,
        'unlabeled_loss_weight': 2,
        'target_temperature': _TEMPERATURE,
        'signal_annealing': 'linear',
      },
      lambda step: _loss(step, num_sure, num_left_out),
      ratio=2,
    )
    # Each of six steps has eight unlabeled and four labeled images.
    self.assertBetween(sum(num_sure), 5, 6 * 8 - 5)
    self.assertBetween(sum(num_left_out), 5, 6 * 4 - 5)

  @parameterized.parameters(
    ('none', [1, 1, 1]),
    ('linear', [0, 0.5, 1]),
    ('exp', [math.exp(-5), math.exp(-2.5), 1]),
    ('log', [0, 1 - math.exp(-2.5), 1 - math.exp(-5)]),
  )
  def test_threshold_rises_from_a_guess_to_all_s8(self, annealing, risen):
    found = uda.annealed_threshold(tf.constant([0, 0.5, 1]), 10, annealing)
    np.testing.assert_allclose(found, 0.1 + 0.9 * np.array(risen), rtol=1e-6)

  def test_nothing_is_trained_on_where_all_is_known(self):
    logits = tf.constant([[9.0, 0.0], [0.0, 9.0]])
    loss = uda.annealed_cross_entropy(logits, tf.constant([0, 1]), 0.5)
    self.assertEqual(loss, 0)


if __name__ == '__main__':
  absltest.main()
