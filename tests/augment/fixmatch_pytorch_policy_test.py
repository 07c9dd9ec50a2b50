# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch's RandAugment in PyTorch: the operations are Pillow's."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from tests.augment import fixmatch_pool_test_case
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import geometric_operations

_GRAY = fixmatch_pool_test_case.GRAY


class BuildFixMatchPyTorchRandAugmentTest(
  fixmatch_pool_test_case.FixMatchPoolTestCase
):
  build = fixmatch_policy.build_fixmatch_pytorch_rand_augment
  version = fixmatch_policy.FIXMATCH_PYTORCH
  of_pillow = fixmatch_pool_test_case.create_operations_of_pillow(
    enhance=lambda level: level * 0.9 / 10 + 0.05,
    posterize=lambda level: int(level * 4 / 10) + 4,
    translate=lambda level, size: int(level * 0.3 / 10 * size),
    fill=0,
  )

  @parameterized.parameters((32, 16), (28, 14), (20, 7))
  def test_box_is_that_of_the_authors(self, size, num_pixels):
    images = np.zeros([40, size, size, 1], np.uint8)
    points = np.random.default_rng(0).random([40, 2]).astype(np.float32)
    found = geometric_operations.cut_out_beside(
      tf.constant(images), points, num_pixels=num_pixels, fill=_GRAY
    )
    for view, (x, y) in zip(found.numpy(), points, strict=True):
      image = Image.new('L', (size, size))
      first = [
        int(max(0, p * np.float32(size) - num_pixels / 2)) for p in (x, y)
      ]
      last = [int(min(size, p + num_pixels)) for p in first]
      ImageDraw.Draw(image).rectangle([*first, *last], _GRAY)
      self.assertAllEqual(view[..., 0], np.asarray(image))

  @parameterized.parameters((96, 16), (28, 14))
  def test_every_view_has_one(self, size, num_pixels):
    images = np.zeros([300, size, size, 1], np.uint8)
    covered = self.augment(images).numpy()[..., 0] == _GRAY
    areas = covered.sum(axis=(1, 2))
    # A pixel more where all fit; where the border cuts some off, at the end.
    self.assertGreaterEqual(areas.min(), (num_pixels // 2) ** 2)
    # Operations before the cutout make black pixels black or white, never gray.
    self.assertEqual(areas.max(), (num_pixels + 1) ** 2)


if __name__ == '__main__':
  absltest.main()
