# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that curve colors differ, by CIELAB in Pillow."""

import itertools

from absl.testing import absltest
import numpy as np
from PIL import Image
from PIL import ImageCms

from tff_semifl.plots import learning_curves


def _to_lab(names):
  """Returns L*, a* and b* of colors by their names."""
  to_lab = ImageCms.buildTransform(
    ImageCms.createProfile('sRGB'), ImageCms.createProfile('LAB'), 'RGB', 'LAB'
  )
  pixels = Image.new('RGB', (len(names), 1))
  pixels.putdata([tuple(bytes.fromhex(name[1:])) for name in names])
  lab = np.asarray(ImageCms.applyTransform(pixels, to_lab))[0]
  # L* in 0..100 is 0..255, and a* and b* are signed.
  return np.stack(
    [lab[:, 0] / 2.55, *lab[:, 1:].astype(np.int8).astype(float).T], axis=-1
  )


class CurveColorsTest(absltest.TestCase):
  def test_least_distance_of_two(self):
    found = learning_curves.choose(40)
    self.assertLen(found, 40)
    least = min(
      np.linalg.norm(one - other)
      for one, other in itertools.combinations(_to_lab(found), 2)
    )
    # The least distance of two of the first six colors; 2 is just noticeable.
    self.assertGreater(least, 24)

  def test_shows_on_white(self):
    lightness = _to_lab(learning_curves.choose(40))[:, 0]
    self.assertLess(lightness.max(), 87)
    self.assertGreater(lightness.min(), 18)

  def test_more_curves_leave_the_colors_of_others(self):
    few, many = learning_curves.choose(9), learning_curves.choose(30)
    self.assertEqual(few, many[:9])


if __name__ == '__main__':
  absltest.main()
