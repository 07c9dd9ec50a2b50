# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for learning rates as functions of the round, or of the step."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tff_semifl.core import schedules

# SemiFL's: 800 rounds from 0.03 (D7).
_TOTAL_ROUNDS = 800
_INITIAL_VALUE = 0.03


def _expected(round_num, initial_value, total_rounds):
  """The formula, in the float64 of Python."""
  return (
    initial_value * (1 + math.cos(math.pi * (round_num - 1) / total_rounds)) / 2
  )


class CosineDecayTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._values = [
      schedules.cosine_decay(
        t, initial_value=_INITIAL_VALUE, total_rounds=_TOTAL_ROUNDS
      ).numpy()
      for t in range(_TOTAL_ROUNDS + 1)
    ]

  def test_every_round_has_the_value_of_the_formula(self):
    expected = [
      _expected(t, _INITIAL_VALUE, _TOTAL_ROUNDS)
      for t in range(1, _TOTAL_ROUNDS + 1)
    ]
    # A float32 cosine near -1 is off by up to 2^-24, times 0.015 is 1e-9.
    self.assertAllClose(self._values[1:], expected, rtol=1e-6, atol=4e-9)

  def test_round_0_has_the_value_of_round_1(self):
    """In round 0 only the server trains (D1)."""
    self.assertEqual(self._values[0], self._values[1])


# Zhang et al.'s step is one of 1024 of an epoch (E.1).
_EPOCH = 1024


def _equation_10(t, gamma, c, epochs, warm_up_epochs, epsilon):
  """Equation 10 of Zhang et al. in float64, with warm-up (E.4)."""
  warm_up = warm_up_epochs * _EPOCH
  if t < warm_up:
    return gamma * t / warm_up
  angle = math.pi * c * (t - warm_up) / (epochs * _EPOCH - warm_up)
  return gamma * max(math.cos(angle), epsilon)


class WarmUpAndCosineTest(parameterized.TestCase, tf.test.TestCase):
  def _rate(
    self, epoch, *, epochs, half_turns, base_value=0.146, warm_up=5, floor=1e-4
  ):
    return schedules.warm_up_and_cosine(
      tf.constant(int(epoch * _EPOCH)),
      base_value=base_value,
      warm_up_steps=warm_up * _EPOCH,
      total_steps=epochs * _EPOCH,
      half_turns=half_turns,
      floor=floor,
    ).numpy()

  @parameterized.parameters(
    # Table A.1, by the letter: CIFAR-10, SVHN and EMNIST.
    (0.146, 2.3, 300, 5),
    (0.03, 0.4375, 100, 0),
    # The authors' values for CIFAR-10.
    (0.146, 0.4375, 200, 5),
  )
  def test_is_equation_10(self, gamma, c, epochs, warm_up):
    for epoch in (0, 0.01, 1, 4.999, 5, 5.01, 20, 39.9, 70, 99, 150, 250, 299):
      self.assertAllClose(
        self._rate(
          epoch, epochs=epochs, half_turns=c, base_value=gamma, warm_up=warm_up
        ),
        _equation_10(int(epoch * _EPOCH), gamma, c, epochs, warm_up, 1e-4),
        rtol=1e-4,
        atol=1e-6,
      )

  @parameterized.parameters(
    # E.4 gives these for gamma = 0.165 and epsilon = 1e-5.
    (1, 0.033),
    (50, 0.157),
    (150, 0.086),
    (200, 0.032),
  )
  def test_values_of_the_code_on_cifar10(self, epoch, expected):
    found = self._rate(
      epoch, epochs=200, half_turns=7 / 16, base_value=0.165, floor=1e-5
    )
    self.assertAllClose(found, expected, rtol=0, atol=6e-4)


class RampUpTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((0.0, 0.4, 0.0), (0.4, 0.4, 1.0), (0.9, 0.4, 1.0))
  def test_rises_to_1_and_stays(self, position, length, expected):
    self.assertAllClose(
      schedules.ramp_up(tf.constant(position), length), expected
    )

  def test_without_a_length_it_is_1_from_the_start(self):
    self.assertEqual(schedules.ramp_up(tf.constant(0.0), 0), 1)


if __name__ == '__main__':
  absltest.main()
