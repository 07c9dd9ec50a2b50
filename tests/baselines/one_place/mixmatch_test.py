# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of MixMatch in one place, against its formula (F.7)."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import mixed_reference
from tests import pooled_reference

_TEMPERATURE = 0.7


def _loss(step):
  views = [step.weak(0), step.weak(1)]
  guess = sum(tf.nn.softmax(step.f(view)).numpy() for view in views) / 2
  guess = guess ** (1 / _TEMPERATURE)
  guess /= guess.sum(axis=1, keepdims=True)
  images, labels = mixed_reference.mix(
    step,
    np.concatenate([step.x, *views]),
    np.concatenate([step.y, guess, guess]),
    concentration=0.5,
  )
  logits = mixed_reference.predict(step, images)
  num = pooled_reference.BATCH_SIZE
  difference = labels[num:] - tf.nn.softmax(logits[num:])
  return tf.reduce_mean(
    pooled_reference.cross_entropy(labels[:num], logits[:num])
  ) + 50 * min(step.num / 4, 1) * tf.reduce_mean(difference**2)


class MixMatchTest(absltest.TestCase):
  def test_equals_the_formula(self):
    pooled_reference.assert_system_equals(
      'mixmatch',
      {
        'guess_temperature': _TEMPERATURE,
        'unlabeled_loss_weight': 50,
        'ramp_up_steps': 4,
      },
      _loss,
      ratio=2,
    )


if __name__ == '__main__':
  absltest.main()
