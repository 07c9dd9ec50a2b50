# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of digits with strange test images."""

from absl.testing import absltest
import numpy as np

from benchmarks import strange_digits
from tff_semifl.tasks import digits


class StrangeDigitsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.test = digits.Digits().create().load_test_images()

  def _load(self, task):
    found = task.create().load_test_images()
    np.testing.assert_array_equal(found.labels, self.test.labels)
    return found.images

  def test_dark_is_bright(self):
    found = self._load(strange_digits.INVERTED)
    self.assertEqual(found.dtype, np.uint8)
    np.testing.assert_array_equal(
      found.astype(int) + self.test.images, np.full(found.shape, 255)
    )

  def test_images_keep_their_pixels_and_not_their_places(self):
    found, again = (self._load(strange_digits.SHUFFLED) for _ in range(2))
    np.testing.assert_array_equal(found, again)
    rows = (len(found), -1)
    np.testing.assert_array_equal(
      np.sort(found.reshape(rows)), np.sort(self.test.images.reshape(rows))
    )
    # Of 64 pixels many are black, and so stay so.
    self.assertGreater((found != self.test.images).mean(), 0.5)


if __name__ == '__main__':
  absltest.main()
