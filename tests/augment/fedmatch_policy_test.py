# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FedMatch's RandAugment, against Pillow (D.6)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageEnhance
from PIL import ImageOps
import pytest
import tensorflow as tf

from tests.augment import pillow
from tff_semifl.augment import fedmatch_policy

_SEED = tf.constant([3, 4])


def _enhance(enhancement, amount):
  strengths = np.linspace(0.0, amount, 10)
  return lambda image, index: enhancement(image).enhance(
    1 + np.sign(index) * strengths[abs(index)]
  )


def _translate(position, axis):
  shares = np.linspace(0, 0.2, 10)
  return pillow.affine(
    position,
    lambda image, index: (
      np.sign(index) * shares[abs(index)] * image.size[axis]
    ),
  )


def _shear(position):
  amounts = np.linspace(0, 0.3, 10)
  return pillow.affine(
    position,
    lambda _, index: np.sign(index) * amounts[abs(index)],
    resample=Image.Resampling.BILINEAR,
  )


# The authors' tables of ten, at an index.
_ONE_WAY = {
  'rotate': lambda image, index: image.rotate(
    np.linspace(0, 360, 10)[index], fillcolor=(128,) * 3
  ),
  'solarize': lambda image, index: ImageOps.solarize(
    image, np.linspace(256, 231, 10)[index]
  ),
  'posterize': lambda image, index: ImageOps.posterize(
    image, int(np.round(np.linspace(8, 4, 10))[index])
  ),
}
_TWO_WAYS = {
  'color': _enhance(ImageEnhance.Color, 0.9),
  'contrast': _enhance(ImageEnhance.Contrast, 0.5),
  'brightness': _enhance(ImageEnhance.Brightness, 0.3),
  'sharpness': _enhance(ImageEnhance.Sharpness, 0.9),
  'shearX': _shear(1),
  'shearY': _shear(3),
  'translateX': _translate(2, 0),
  'translateY': _translate(5, 1),
}
_WITHOUT_INDEX = {
  'autocontrast': ImageOps.autocontrast,
  'equalize': lambda image: image,
}


def _operations():
  return {each.name: each for each in fedmatch_policy.create_operations()}


class FedMatchPolicyTest(parameterized.TestCase, tf.test.TestCase):
  def test_has_the_13_operations_and_draws_six(self):
    self.assertLen(fedmatch_policy.create_operations(), 13)
    self.assertSameElements(
      _operations(), [*_WITHOUT_INDEX, *_ONE_WAY, *_TWO_WAYS]
    )
    self.assertEqual(fedmatch_policy.NUM_OPERATIONS, 6)

  @parameterized.parameters(*_WITHOUT_INDEX)
  def test_operation_without_index(self, name):
    images = pillow.create_images()
    views = _operations()[name].apply(tf.cast(images, tf.float32), ())
    self.assertAllEqual(views, pillow.apply(_WITHOUT_INDEX[name], images))

  @parameterized.parameters(*_ONE_WAY, *_TWO_WAYS)
  def test_operation_at_each_index(self, name):
    indices = list(range(5))
    if name in _TWO_WAYS:
      indices += [-index for index in indices]
    images = np.repeat(pillow.create_images(40, 25)[::3], len(indices), axis=0)
    indices = np.resize(np.array(indices, np.int32), len(images))
    views = _operations()[name].apply(
      tf.cast(images, tf.float32), tf.constant(indices)
    )
    expected = pillow.apply({**_ONE_WAY, **_TWO_WAYS}[name], images, indices)
    # Factors of nine are not the same number in each order of operations: a
    # gray level that is cut off may be the next one.
    difference = np.abs(views.numpy() - expected.astype(np.float32))
    self.assertLessEqual(np.mean(difference > 0), 1e-3)
    self.assertLessEqual(np.quantile(difference, 0.9999), 1)

  def test_odds_of_the_indices(self):
    num_draws = 20_000
    indices = _operations()['rotate'].draw(num_draws, _SEED).numpy()
    # Below a bound of 2, 3, 4 or 5.
    odds = [
      np.mean([(index < bound) / bound for bound in (2, 3, 4, 5)])
      for index in range(5)
    ]
    self.assertAlmostEqual(sum(odds), 1)
    self.assertAllClose(
      np.bincount(indices, minlength=5) / num_draws, odds, rtol=0, atol=0.02
    )
    signed = _operations()['color'].draw(num_draws, _SEED).numpy()
    self.assertEqual(set(signed.tolist()), set(range(-4, 5)))

  @pytest.mark.slow
  def test_views_are_a_function_of_the_seed(self):
    augment = fedmatch_policy.build_fedmatch_rand_augment()
    images = pillow.create_images()[..., :1]
    views, again, others = (
      augment(tf.constant(images), tf.constant([3, key])) for key in (0, 0, 1)
    )
    self.assertEqual(views.dtype, tf.uint8)
    self.assertAllEqual(views, again)
    self.assertNotAllEqual(views, others)


if __name__ == '__main__':
  absltest.main()
