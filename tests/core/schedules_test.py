# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of learning rates as functions of the round, or of the step."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.core import training_loop

_EPOCH = 1024


def _equation_10(t, gamma, c, epochs, warm_up_epochs, epsilon):
  """Equation 10 of Zhang et al. in float64, with warm-up."""
  warm_up = warm_up_epochs * _EPOCH
  if t < warm_up:
    return gamma * t / warm_up
  angle = math.pi * c * (t - warm_up) / (epochs * _EPOCH - warm_up)
  return gamma * max(math.cos(angle), epsilon)


class SchedulesTest(parameterized.TestCase, tf.test.TestCase):
  def test_cosine_decay_of_800_rounds_d7(self):
    values = [
      training_loop.cosine_decay(t, initial_value=0.03, total_rounds=800)
      for t in (0, 1, 2, 100, 400, 799, 800)
    ]
    # In round 0 only the server trains.
    expected = [
      0.03 * (1 + math.cos(math.pi * (t - 1) / 800)) / 2
      for t in (1, 1, 2, 100, 400, 799, 800)
    ]
    # A float32 cosine near -1 has an error of up to 2^-24; times 0.015 this is
    # 1e-9.
    self.assertAllClose(values, expected, rtol=1e-6, atol=4e-9)

  @parameterized.parameters(
    # Table A.1, literally: CIFAR-10, SVHN and EMNIST.
    (0.146, 2.3, 300, 5),
    (0.03, 0.4375, 100, 0),
    # The authors' values for CIFAR-10.
    (0.146, 0.4375, 200, 5),
  )
  def test_warm_up_and_cosine_is_equation_10(self, gamma, c, epochs, warm_up):
    schedule = zhang2020.WarmUpAndCosine(
      learning_rate=gamma,
      warm_up_steps=warm_up * _EPOCH,
      schedule_steps=epochs * _EPOCH,
      schedule_half_turns=c,
    )
    for epoch in (0, 0.01, 1, 4.999, 5, 5.01, 20, 39.9, 70, 99, 150, 250, 299):
      step = int(epoch * _EPOCH)
      self.assertAllClose(
        schedule.learning_rate_of(tf.constant(step)),
        _equation_10(step, gamma, c, epochs, warm_up, 1e-4),
        rtol=1e-4,
        atol=1e-6,
      )

  @parameterized.parameters(
    (0.0, 0.4, 0.0), (0.4, 0.4, 1.0), (0.9, 0.4, 1.0), (0.0, 0, 1.0)
  )
  def test_ramp_up_rises_to_1_and_stays(self, position, length, expected):
    self.assertAllClose(
      pooled_method.ramp_up(tf.constant(position), length), expected
    )


if __name__ == '__main__':
  absltest.main()
