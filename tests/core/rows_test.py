# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rows and their padding."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.core import compiled_steps
from tff_semifl.core import rows as rows_lib

_VALUES = np.arange(7, dtype=np.float32)


def padded(examples):
  """Rows that can have padding, without padding at first."""
  number = len(tf.nest.flatten(examples)[0])
  return rows_lib.Rows(examples, tf.constant(number))


_KINDS = (rows_lib.Rows, padded)


def _examples(rows):
  """The examples without padding."""
  return tf.nest.map_structure(
    lambda array: None if array is None else array[: int(rows.number)],
    rows.examples,
  )


class RowsTest(parameterized.TestCase):
  @parameterized.parameters(*_KINDS)
  def test_keeps_some_in_their_order(self, kind):
    kept = kind((_VALUES, None, _VALUES[:, np.newaxis])).keep(_VALUES % 3 > 0)
    first, nothing, second = _examples(kept)
    np.testing.assert_array_equal(first, [1, 2, 4, 5])
    np.testing.assert_array_equal(second, [[1], [2], [4], [5]])
    self.assertIsNone(nothing)

  def test_padding_is_not_kept(self):
    rows = rows_lib.Rows(_VALUES, tf.constant(4)).keep(_VALUES > 1)
    np.testing.assert_array_equal(_examples(rows), [2, 3])
    self.assertLen(rows.examples, len(_VALUES))
    np.testing.assert_array_equal(rows.is_real, [True] * 2 + [False] * 5)

  def test_all_are_shuffled_and_drawn_alike(self):
    seed = tf.constant([3, 4])
    is_kept = _VALUES != 2
    kept = [kind(_VALUES).keep(is_kept) for kind in _KINDS]
    first, other = (_examples(each.shuffle(seed)) for each in kept)
    np.testing.assert_array_equal(first, other)
    np.testing.assert_array_equal(np.sort(first), [0, 1, 3, 4, 5, 6])
    self.assertFalse(np.array_equal(first, np.sort(first)))
    first, other = (each.draw(6000, seed) for each in kept)
    np.testing.assert_array_equal(first, other)
    # Standard deviation of each count: sqrt(6000 * 1/6 * 5/6) = 29.
    counts = np.bincount(np.asarray(first, int))
    np.testing.assert_allclose(counts[is_kept], 1000, atol=5 * 29)
    self.assertEqual(counts[2], 0)
    self.assertEmpty(rows_lib.Rows(_VALUES[:0]).draw(0, seed))

  @parameterized.parameters(*_KINDS)
  def test_cuts_batches(self, kind):
    rows = kind(_VALUES).keep(_VALUES > 1)
    batches = [rows.cut(tf.constant(start), 3) for start in (0, 3, 6)]
    np.testing.assert_array_equal(_examples(batches[0]), [2, 3, 4])
    np.testing.assert_array_equal(_examples(batches[1]), [5, 6])
    self.assertEqual(batches[2].number, 0)

  @parameterized.product(kind=_KINDS, weights=[None, _VALUES[:3] + 1])
  def test_weighted_mean_is_that_over_examples(self, kind, weights):
    losses = tf.constant([5.0, 7.0, 11.0, 13.0, 17.0])
    batch = kind(losses).cut(tf.constant(2), 4)
    if weights is not None:
      weights = tf.pad(weights, [[0, len(batch.examples) - 3]])
    factors = batch.weigh(weights)
    each = batch.examples if factors is None else batch.examples * factors
    own = np.ones(3) if weights is None else weights[:3]
    self.assertAlmostEqual(
      float(tf.reduce_mean(each)), np.mean([11, 13, 17] * own), places=4
    )

  def test_no_example_weighs_nothing(self):
    weights = rows_lib.Rows(_VALUES, tf.constant(0)).weigh()
    np.testing.assert_array_equal(weights, np.zeros(7))

  @parameterized.product(kind=_KINDS, size=[3, 7, 100])
  def test_maps_batches(self, kind, size):
    sizes = []

    def double(values):
      sizes.append(len(values))
      return tf.stack([values, 2 * values], axis=1)

    found = kind(_VALUES).map_batches(double, width=2, size=size)
    np.testing.assert_array_equal(found, np.stack([_VALUES, 2 * _VALUES], 1))
    self.assertLessEqual(max(sizes), size)

  @parameterized.parameters((0, 1), (1, 1), (4, 4), (5, 8), (1025, 2048))
  def test_pads_to_a_power_of_two(self, number, size):
    labels = np.arange(number, dtype=np.int32) + 7
    images = np.tile(labels[:, np.newaxis, np.newaxis], [1, 2, 3])
    (padded_images, padded_labels), found = compiled_steps.pad(
      (tf.constant(images), tf.constant(labels))
    )
    self.assertEqual(found, number)
    last = number + 6 if number else 0
    expected = [*labels, *[last] * (size - number)]
    np.testing.assert_array_equal(padded_labels, expected)
    self.assertEqual(padded_images.shape, (size, 2, 3))
    np.testing.assert_array_equal(padded_images[:, 1, 2], expected)


if __name__ == '__main__':
  tf.test.main()
