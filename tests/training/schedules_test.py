# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for learning rates as functions of the round, or of the step."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tff_semifl.training import schedules

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

  def test_begins_with_the_initial_value(self):
    self.assertAllClose(self._values[1], 0.03, rtol=1e-7, atol=0)

  def test_has_half_of_it_in_the_middle(self):
    # (t - 1) / T = 400 / 800 is a quarter of a turn, whose cosine is 0.
    self.assertAllClose(self._values[401], 0.015, rtol=1e-6, atol=0)

  def test_round_0_has_the_value_of_round_1(self):
    """In round 0 only the server trains (D1)."""
    self.assertEqual(self._values[0], self._values[1])

  def test_ends_close_to_zero_but_not_at_it(self):
    # 1 - cos(x) = x^2 / 2 for x = pi / 800: 0.015 * 7.7e-6 = 1.16e-7.
    last = self._values[_TOTAL_ROUNDS]
    self.assertGreater(last, 0)
    self.assertAllClose(
      last, 0.015 * (math.pi / 800) ** 2 / 2, rtol=0.02, atol=0
    )

  def test_decreases_in_every_round(self):
    for t in range(1, _TOTAL_ROUNDS):
      self.assertLess(self._values[t + 1], self._values[t], f'round {t + 1}')

  @parameterized.parameters((1, 1, 0.5), (3, 4, 2.0), (4, 4, 2.0), (7, 10, 0.1))
  def test_other_lengths_and_initial_values(
    self, round_num, total_rounds, initial_value
  ):
    value = schedules.cosine_decay(
      round_num, initial_value=initial_value, total_rounds=total_rounds
    )
    self.assertEqual(value.dtype, tf.float32)
    self.assertEqual(value.shape, [])
    self.assertAllClose(
      value, _expected(round_num, initial_value, total_rounds), rtol=1e-5
    )

  def test_takes_the_round_as_a_tensor_in_a_graph(self):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def learning_rate(round_num):
      return schedules.cosine_decay(
        round_num, initial_value=_INITIAL_VALUE, total_rounds=_TOTAL_ROUNDS
      )

    for t in (0, 1, 401, 800):
      self.assertAllClose(learning_rate(t), self._values[t], atol=1e-9)

  def test_without_rounds(self):
    with self.assertRaisesRegex(ValueError, 'must be positive, found 0'):
      schedules.cosine_decay(0, initial_value=1.0, total_rounds=0)


# Zhang et al.'s step is one of 1024 of an epoch (E.1).
_EPOCH = 1024


def _equation_10(t, gamma, c, epochs, warm_up_epochs, epsilon):
  """As it is written, in the float64 of Python, with its warm-up (E.4)."""
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
    (0.146, 2.3, 40, 5),
    (0.03, 0.4375, 100, 0),
    # What the authors ran on CIFAR-10.
    (0.146, 0.4375, 200, 5),
  )
  def test_is_equation_10(self, gamma, c, epochs, warm_up):
    for epoch in (0, 0.01, 1, 4.999, 5, 5.01, 20, 39.9, 70, 99, 150, 250, 299):
      self.assertAllClose(
        self._rate(
          epoch,
          epochs=epochs,
          half_turns=c,
          base_value=gamma,
          warm_up=warm_up,
        ),
        _equation_10(int(epoch * _EPOCH), gamma, c, epochs, warm_up, 1e-4),
        rtol=1e-4,
        atol=1e-6,
      )

  @parameterized.parameters(
    # E.4 gives these for gamma = 0.165 and epsilon = 1e-5.
    (1, 0.033),
    (5, 0.165),
    (50, 0.157),
    (100, 0.129),
    (150, 0.086),
    (200, 0.032),
  )
  def test_values_of_the_code_on_cifar10(self, epoch, expected):
    found = self._rate(
      epoch, epochs=200, half_turns=7 / 16, base_value=0.165, floor=1e-5
    )
    self.assertAllClose(found, expected, rtol=0, atol=6e-4)

  def test_code_is_equation_10_with_other_numbers(self):
    """D43: E of 1024, and the c that the code computes for it, 2.286."""
    warm_up = 5 * _EPOCH
    c = 7 / 16 * (1024 * _EPOCH - warm_up) / (200 * _EPOCH - warm_up)
    self.assertAlmostEqual(c, 2.286, places=3)
    for epoch in (3, 10, 100, 227, 229, 299):
      self.assertAllClose(
        self._rate(epoch, epochs=200, half_turns=7 / 16),
        _equation_10(epoch * _EPOCH, 0.146, c, 1024, 5, 1e-4),
        rtol=1e-4,
        atol=1e-6,
      )

  def test_code_on_cifar10_falls_to_the_floor_and_stays(self):
    rates = [
      self._rate(epoch, epochs=200, half_turns=7 / 16)
      for epoch in range(5, 301)
    ]
    self.assertTrue(all(a >= b for a, b in zip(rates, rates[1:], strict=False)))
    # 5 + 195 * 8 / 7 = 227.9.
    floor = [epoch for epoch, r in enumerate(rates, 5) if r < 2e-5]
    self.assertEqual((floor[0], floor[-1]), (228, 300))
    self.assertAllClose(rates[-1], 1.46e-5, rtol=1e-5)

  def test_letter_on_cifar10_climbs_back(self):
    """At the floor from epoch 69 to 197, and at the top at 261 (D43)."""
    rates = {
      epoch: self._rate(epoch, epochs=300, half_turns=2.3)
      for epoch in range(5, 300)
    }
    floor = [epoch for epoch, rate in rates.items() if rate < 2e-5]
    self.assertEqual((floor[0], floor[-1]), (70, 197))
    # A whole turn, 2 of 2.3 halves: at 5 + 295 * 2 / 2.3 = 261.5.
    self.assertIn(max(range(100, 300), key=rates.get), (261, 262))
    self.assertAllClose(rates[261], 0.146, rtol=1e-3)

  def test_letter_on_svhn_starts_again(self):
    """At the floor in epochs 13 to 27, and .0858 in the end (D43)."""
    rates = {
      epoch: self._rate(epoch, epochs=40, half_turns=2.3)
      for epoch in range(5, 41)
    }
    floor = [epoch for epoch, rate in rates.items() if rate < 2e-5]
    self.assertEqual((floor[0], floor[-1]), (13, 27))
    # 0.146 * cos(2.3 * pi), and 2.3 pi is .3 pi: 54 degrees.
    self.assertAllClose(
      rates[40], 0.146 * math.sin(math.radians(36)), rtol=1e-4
    )
    self.assertAllClose(rates[40], 0.0858, rtol=0, atol=5e-5)

  def test_last_code_on_svhn_ends_higher(self):
    """At .103: c of 2.286 and a rate of .165 (D43, D44)."""
    found = self._rate(40, epochs=40, half_turns=2.286, base_value=0.165)
    self.assertAllClose(found, 0.103, rtol=0, atol=5e-4)

  def test_emnist_is_a_plain_cosine(self):
    """7/16 of half a turn without warm-up, ending at .00585 (D43)."""
    for epoch in (0, 1, 50, 99):
      self.assertAllClose(
        self._rate(
          epoch, epochs=100, half_turns=7 / 16, base_value=0.03, warm_up=0
        ),
        0.03 * math.cos(7 * math.pi * epoch / (16 * 100)),
        rtol=1e-5,
      )
    self.assertAllClose(
      self._rate(
        100, epochs=100, half_turns=7 / 16, base_value=0.03, warm_up=0
      ),
      0.00585,
      rtol=1e-3,
    )

  def test_begins_with_nothing(self):
    self.assertEqual(self._rate(0, epochs=200, half_turns=7 / 16), 0)

  @parameterized.parameters((10, 10), (-1, 10))
  def test_warm_up_that_takes_all(self, warm_up_steps, total_steps):
    with self.assertRaisesRegex(
      ValueError, f'from 0 to less than 10, found {warm_up_steps}'
    ):
      schedules.warm_up_and_cosine(
        0,
        base_value=1.0,
        warm_up_steps=warm_up_steps,
        total_steps=total_steps,
        half_turns=0.5,
        floor=0.0,
      )


class RampUpTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (0.0, 0.4, 0.0), (0.1, 0.4, 0.25), (0.4, 0.4, 1.0), (0.9, 0.4, 1.0)
  )
  def test_rises_to_1_and_stays(self, position, length, expected):
    self.assertAllClose(
      schedules.ramp_up(tf.constant(position), length), expected
    )

  def test_without_a_length_it_is_1_from_the_start(self):
    self.assertEqual(schedules.ramp_up(tf.constant(0.0), 0), 1)


if __name__ == '__main__':
  absltest.main()
