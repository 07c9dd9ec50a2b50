# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for learning rates as functions of the round."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tff_semifl import schedules

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


if __name__ == '__main__':
  absltest.main()
