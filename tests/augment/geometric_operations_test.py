# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that operations that move or cover pixels do so as Pillow does."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from tests.augment import pillow
from tff_semifl.augment import geometric_operations

_SIZES = ((32, 32), (9, 40), (33, 21))
# Where the amount stands in Pillow's six numbers.
_MAPS = {
  'shear_x': (geometric_operations.shear_x, 1),
  'shear_y': (geometric_operations.shear_y, 3),
  'translate_x': (geometric_operations.translate_x, 2),
  'translate_y': (geometric_operations.translate_y, 5),
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
    to_maps, position = _MAPS[name]
    images, amounts = _spread(
      _AMOUNTS[name[:-2]], pillow.create_images(*size)[::3]
    )
    maps = to_maps(amounts)
    for fetch, resampling, fill in (
      (geometric_operations.fetch_nearest, Image.Resampling.NEAREST, 127),
      (geometric_operations.fetch_bilinear, Image.Resampling.BILINEAR, 0),
    ):

      def transform(image, amount, resampling=resampling, fill=fill):
        numbers = [1, 0, 0, 0, 1, 0]
        numbers[position] = amount
        return image.transform(
          image.size,
          Image.Transform.AFFINE,
          numbers,
          resampling,
          fillcolor=(fill,) * 3,
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
    # Nobody rotates so, and cosines of another last digit may show.
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

  def test_positive_angles_turn_counter_clockwise(self):
    image = np.zeros([1, 21, 21, 3], np.uint8)
    image[0, 10, 20] = 255  # To the right of the middle.
    maps = geometric_operations.rotate(tf.constant([90]), image)
    view = geometric_operations.fetch_nearest(_to_float(image), maps, fill=0)
    self.assertAllEqual(np.argwhere(view[0, :, :, 0] == 255), [[0, 10]])

  @parameterized.parameters(
    geometric_operations.fetch_nearest, geometric_operations.fetch_bilinear
  )
  def test_amount_0_is_the_identity(self, fetch):
    images = pillow.create_images()
    zeros = tf.zeros([len(images)])
    for maps in (
      geometric_operations.rotate(zeros, images),
      *(to_maps(zeros) for to_maps, _ in _MAPS.values()),
    ):
      self.assertAllEqual(fetch(_to_float(images), maps, fill=9), images)

  @parameterized.parameters(
    geometric_operations.fetch_nearest, geometric_operations.fetch_bilinear
  )
  def test_same_in_a_graph_of_unknown_sizes(self, fetch):
    images = _to_float(pillow.create_images())

    def rotate(images):
      degrees = tf.range(tf.shape(images)[0])
      return fetch(images, geometric_operations.rotate(degrees, images), fill=3)

    in_graph = tf.function(
      rotate, input_signature=[tf.TensorSpec([None, None, None, None])]
    )
    self.assertAllEqual(in_graph(images), rotate(images))


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
      geometric_operations.cut_out(_to_float(images), boxes, fill=127),
      expected,
    )

  def test_last_row_and_column_are_covered(self):
    images = np.zeros([1, 5, 6, 1], np.float32)
    view = geometric_operations.cut_out(
      tf.constant(images), tf.constant([[1, 2, 3, 2]]), fill=1
    )
    self.assertAllEqual(np.argwhere(view[0, :, :, 0]), [[2, 1], [2, 2], [2, 3]])


if __name__ == '__main__':
  absltest.main()
