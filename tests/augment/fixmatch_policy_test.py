# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch's RandAugment, against Pillow and the odds of C.3."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.augment import fixmatch_pool_test_case
from tff_semifl.augment import fixmatch_policy

_GRAY = fixmatch_pool_test_case.GRAY


class BuildFixMatchRandAugmentTest(
  fixmatch_pool_test_case.FixMatchPoolTestCase
):
  build = fixmatch_policy.build_fixmatch_rand_augment
  jit_compile = True
  version = fixmatch_policy.FIXMATCH
  of_pillow = fixmatch_pool_test_case.create_operations_of_pillow(
    enhance=lambda level: level * 1.8 / 10 + 0.1,
    posterize=lambda level: 4 - int(0.4 * level),
    translate=lambda level, size: level,
    fill=_GRAY,
  )

  def test_covers_a_box_around_any_pixel(self):
    num_images, size = 4000, 32
    # Black stays black, but for what an operation brings in from outside, or
    # inverts. The views that show a single box tell where boxes are.
    images = np.zeros([num_images, size, size, 1], np.uint8)
    covered = self.augment(images).numpy()[..., 0] == _GRAY
    is_box = np.full(num_images, True)
    area = 1
    limits = []
    for axis in (1, 2):
      lines = covered.any(axis=axis)
      first = lines.argmax(axis=1)
      last = size - 1 - lines[:, ::-1].argmax(axis=1)
      limits.append((first, last))
      area *= last - first + 1
      is_box &= last - first < 16
    is_box &= covered.sum(axis=(1, 2)) == area
    self.assertGreater(np.mean(is_box), 0.6)

    for first, last in limits:
      first, last = first[is_box], last[is_box]
      # The box around pixel c is from c - 8 to c + 7, as far as there are any.
      middle = np.where(first > 0, first + 8, last - 7)
      self.assertAllEqual(first, np.maximum(0, middle - 8))
      self.assertAllEqual(last, np.minimum(size - 1, middle + 7))
      counts = np.bincount(middle, minlength=size)
      self.assertLen(counts, size)
      # Chi-square with 31 degrees of freedom.
      mean = len(middle) / size
      self.assertLess(
        np.sum((counts - mean) ** 2 / mean), 31 + 5 * np.sqrt(2 * 31)
      )

  @parameterized.parameters((96, 16), (28, 14))
  def test_box_is_at_most_half_of_the_image(self, size, expected):
    images = np.full([200, size, size, 1], 0, np.uint8)
    covered = self.augment(images).numpy()[..., 0] == _GRAY
    # Most often the box is inside, and no other mid-gray comes in.
    areas = np.bincount(covered.sum(axis=(1, 2)))
    self.assertEqual(areas.argmax(), expected**2)

  def test_every_view_is_covered(self):
    images = np.full([500, 32, 32, 3], 200, np.uint8)
    covered = (self.augment(images).numpy() == _GRAY).all(axis=3)
    # The smallest boxes are in the corner around the first pixel: 8x8.
    self.assertGreaterEqual(covered.sum(axis=(1, 2)).min(), 64)


if __name__ == '__main__':
  absltest.main()
