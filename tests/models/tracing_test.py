# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what AutoGraph translates."""

import sys

from absl.testing import parameterized
import tensorflow as tf

from tff_semifl.models import pure_functions

_VALUES = [[1.0, -3.0], [2.0, 3.0]]
_NOT_NEGATIVE = [[-1.0, 3.0], [2.0, 3.0]]


def _without_translation() -> bool:
  """Returns whether the code that runs is that of this file."""
  return sys._getframe(1).f_code.co_filename == __file__


def _turn_if_negative(row):
  if tf.reduce_sum(row) < 0:
    return -row
  return row


class _Turning(tf.keras.layers.Layer):
  def call(self, inputs):
    return tf.map_fn(_turn_if_negative, inputs)


class AsItIsTest(parameterized.TestCase):
  def test_function_is_not_translated(self):
    untranslated = []

    def inner():
      untranslated.append(_without_translation())

    def fn(x):
      untranslated.append(_without_translation())
      inner()
      return x

    tf.function(pure_functions.as_it_is(fn))(1)
    self.assertEqual(untranslated, [True, True])
    # Shows that the check can fail.
    tf.function(fn)(1)
    self.assertEqual(untranslated[2:], [False, False])

  @parameterized.parameters(None, True)
  def test_what_operations_are_given_is_translated(self, jit_compile):
    fn = tf.function(
      pure_functions.as_it_is(lambda rows: tf.map_fn(_turn_if_negative, rows)),
      jit_compile=jit_compile,
    )
    self.assertEqual(fn(tf.constant(_VALUES)).numpy().tolist(), _NOT_NEGATIVE)
