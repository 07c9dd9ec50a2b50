# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that operations that move or cover pixels equal Pillow's."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from tests.augment import pillow
from tff_semifl.augment import geometric_operations

_SIZES = ((32, 32), (9, 40))
# The number of a map, and its index in Pillow's six coefficients.
_MAPS = {
  'shear_x': ('b', 1),
  'shear_y': ('d', 3),
  'translate_x': ('c', 2),
  'translate_y': ('f', 5),
}
_AMOUNTS = {
  'shear': [0.03 * level for level in range(1, 11)],
  'translate': [0, 1, 2, 5, 9, 10, 31, 32, 100],
}


def _to_float(images):
  return tf.cast(images, tf.float32)


def _spread(amounts, images):
  """Returns every image with every amount and its opposite, and these."""
  amounts = np.array([sign * amount for amount in amounts for sign in (1, -1)])
  num_images = len(images)
  return (
    np.repeat(images, len(amounts), axis=0),
    np.tile(amounts, num_images).astype(np.float64),
  )


class AffineTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(name=list(_MAPS), size=_SIZES)
  def test_shear_and_translation(self, name, size):
    number, position = _MAPS[name]
    images, amounts = _spread(
      _AMOUNTS[name[:-2]], pillow.create_images(*size)[::3]
    )
    maps = geometric_operations.affine(**{number: amounts})
    for fetch, resampling, fill in (
      (geometric_operations.fetch_nearest, Image.Resampling.NEAREST, 127),
      (geometric_operations.fetch_bilinear, Image.Resampling.BILINEAR, 0),
    ):
      transform = pillow.affine(
        position, lambda _, amount: amount, fill=fill, resample=resampling
      )
      views = fetch(_to_float(images), maps, fill=fill)
      self.assertAllEqual(views, pillow.apply(transform, images, amounts))

  @parameterized.parameters(*_SIZES)
  def test_rotation(self, *size):
    images, degrees = _spread(range(31), pillow.create_images(*size)[::8])
    maps = geometric_operations.rotate(degrees, images)
    self.assertAllEqual(
      geometric_operations.fetch_nearest(_to_float(images), maps, fill=0),
      pillow.apply(Image.Image.rotate, images, degrees),
    )
    # No policy rotates by these angles; cosines may differ in the last digit.
    self.assertAllClose(
      geometric_operations.fetch_bilinear(_to_float(images), maps, fill=0),
      pillow.apply(
        lambda image, angle: image.rotate(angle, Image.Resampling.BILINEAR),
        images,
        degrees,
      ),
      rtol=0,
      atol=1,
    )


class CutOutTest(tf.test.TestCase):
  def test_covers_the_box_that_pillow_does(self):
    height, width = 20, 27
    images = np.repeat(pillow.create_images(height, width)[:1], 300, axis=0)
    corners = np.random.default_rng(1).integers(-10, 40, size=[300, 2, 2])
    # In order, as Pillow wants them.
    boxes = np.sort(corners, axis=1).reshape(300, 4).astype(np.int32)

    def draw(image, box):
      ImageDraw.Draw(image).rectangle(box.tolist(), (127, 127, 127))
      return image

    expected = pillow.apply(draw, images, boxes)
    views = geometric_operations.cut_out(tf.constant(images), boxes, fill=127)
    self.assertEqual(views.dtype, tf.uint8)
    self.assertAllEqual(views, expected)
    self.assertAllEqual(
      geometric_operations.cut_out(_to_float(images), boxes, fill=127), expected
    )


if __name__ == '__main__':
  absltest.main()
