# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the random choice of operations, with simple operations.

The operations do arithmetic, so that a result shows which were applied.
"""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment

_SEED = tf.constant([5, 6])


def _operation(apply):
  """An operation without parameters."""
  return rand_augment.Operation(
    'test', lambda num_images, seed: (), lambda images, _: apply(images)
  )


def _add(amount):
  return _operation(lambda images: images + amount)


def _images(values, num_channels=3):
  """Creates images of one pixel each, with equal channels."""
  values = np.asarray(values, np.uint8)
  return np.tile(values[:, None, None, None], [1, 1, 1, num_channels])


def _augment(
  images, operations, num_operations=1, application_probability=1.0, seed=_SEED
):
  return rand_augment.apply_random_operations(
    tf.constant(images),
    seed,
    operations=operations,
    num_operations=num_operations,
    application_probability=application_probability,
  ).numpy()


class DrawSignsTest(tf.test.TestCase):
  def test_both_signs_are_equally_likely(self):
    signs = geometric_operations.draw_signs(2000, _SEED).numpy()
    self.assertEqual(set(signs.tolist()), {-1, 1})
    # Five standard deviations of the sum of this many signs.
    self.assertLess(abs(signs.sum()), 5 * np.sqrt(2000))


class ApplyRandomOperationsTest(parameterized.TestCase, tf.test.TestCase):
  def _assert_frequencies(self, values, expected):
    """Asserts that values have about the `expected` frequencies."""
    self.assertContainsSubset(set(values.tolist()), expected)
    for value, probability in expected.items():
      # Five standard deviations of a binomial count.
      deviation = np.sqrt(probability * (1 - probability) / len(values))
      self.assertAllClose(
        np.mean(values == value), probability, rtol=0, atol=5 * deviation
      )

  def test_all_operations_are_equally_likely(self):
    views = _augment(
      _images(np.zeros(2000)), [_add(k) for k in (1, 2, 3, 4, 5)]
    )
    self._assert_frequencies(
      views[:, 0, 0, 0], {value: 1 / 5 for value in (1, 2, 3, 4, 5)}
    )

  def test_draws_with_replacement_and_applies_in_order(self):
    double = _operation(lambda images: 2 * images)
    views = _augment(_images(np.full(2000, 3)), [double, _add(1)], 2)
    # 2 * (2 * 3), 2 * 3 + 1, 2 * (3 + 1) and 3 + 1 + 1.
    self._assert_frequencies(
      views[:, 0, 0, 0], {value: 1 / 4 for value in (12, 7, 8, 5)}
    )

  def test_each_drawn_operation_is_applied_with_the_probability(self):
    views = _augment(_images(np.zeros(4000)), [_add(1)], 3, 0.3)
    # Binomial: 0.7^3, 3 * 0.3 * 0.7^2, 3 * 0.3^2 * 0.7, 0.3^3.
    self._assert_frequencies(
      views[:, 0, 0, 0], {0: 0.343, 1: 0.441, 2: 0.189, 3: 0.027}
    )

  def test_every_image_keeps_its_place(self):
    images = np.zeros([256, 1, 2, 3], np.uint8)
    images[:, 0, 0, :] = np.arange(256)[:, None]

    def add_to_the_second_pixel(amount):
      return _operation(
        lambda images: images + tf.constant([0.0, amount])[:, None]
      )

    views = _augment(
      images, [add_to_the_second_pixel(k) for k in (1.0, 2.0, 4.0)], 4, 0.9
    )
    self.assertAllEqual(views[:, :, :1], images[:, :, :1])
    self.assertGreater(len(set(views[:, 0, 1, 0].tolist())), 4)

  def test_every_image_gets_a_row_of_the_parameters(self):
    operations = [
      rand_augment.Operation(
        'counting',
        lambda num_images, seed, k=k: tf.range(num_images) + 100 * k,
        lambda images, rows: images
        + tf.cast(rows, tf.float32)[:, None, None, None],
      )
      for k in (0, 1)
    ]
    values = _augment(_images(np.zeros(60)), operations)[:, 0, 0, 0]
    # Images of the first operation get 0, 1, and so on; other images 100, 101,
    # and so on.
    num_first = np.sum(values < 100)
    self.assertBetween(num_first, 1, 59)
    self.assertSameElements(
      values.tolist(), [*range(num_first), *range(100, 160 - num_first)]
    )

  def test_operations_and_steps_have_seeds_of_their_own(self):
    seeds = []

    def draw(num_images, seed):
      seeds.append(tuple(seed.numpy()))
      return tf.zeros([num_images])

    operation = rand_augment.Operation('test', draw, lambda images, _: images)
    _augment(_images([1, 2]), [operation] * 3, num_operations=2)
    self.assertLen(seeds, 6)
    self.assertLen(set(seeds), 6)

  def test_clips_after_each_operation(self):
    views = _augment(_images(np.full(200, 100)), [_add(200.0), _add(-200.0)], 2)
    # 100 + 200 is clipped to 255, 100 - 200 to 0; then the second operation is
    # applied.
    self.assertEqual(set(views[:, 0, 0, 0].tolist()), {255, 55, 200, 0})

  def test_rounds_down_after_each_operation(self):
    half = _operation(lambda images: images * 0.5)
    views = _augment(_images([3, 7, 255]), [half], 2)
    # 3 -> 1.5 -> 1 -> 0; 7 -> 3 -> 1; 255 -> 127 -> 63.
    self.assertAllEqual(views[:, 0, 0, 0], [0, 1, 63])

  def test_operation_that_nobody_drew_is_not_applied(self):
    def apply(images):
      tf.debugging.assert_positive(tf.shape(images)[0])
      return images + 1

    # With one image and ten operations, nine operations have no image.
    views = _augment(_images([4]), [_operation(apply)] * 10)
    self.assertAllEqual(views, _images([5]))

  def test_number_of_channels(self):
    with self.assertRaisesRegex(ValueError, '1 or 3 channels .* found 2'):
      _augment(_images([1], 2), [_add(1)])
