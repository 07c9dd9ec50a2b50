# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch's RandAugment, against Pillow and the odds of C.3."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageEnhance
from PIL import ImageOps
import tensorflow as tf

from tests.augment import pillow
from tests.augment import policy_test_case
from tff_semifl.augment import fixmatch_policy

_LEVELS = tuple(range(1, 10))
_GREY = 127


def _affine(position, amount):
  """Pillow's affine map by the amount of a level, mid-grey outside."""

  def transform(image, level):
    numbers = [1, 0, 0, 0, 1, 0]
    numbers[position] = amount(level)
    return image.transform(
      image.size,
      Image.Transform.AFFINE,
      numbers,
      fillcolor=(_GREY,) * 3,
    )

  return transform


def _enhance(enhancement):
  return lambda image, level: enhancement(image).enhance(level * 1.8 / 10 + 0.1)


# The numbers of C.3 at a level.
_WITHOUT_LEVEL = {
  'Identity': lambda image: image,
  'AutoContrast': ImageOps.autocontrast,
  'Equalize': ImageOps.equalize,
}
_ONE_WAY = {
  'Solarize': lambda image, level: ImageOps.solarize(
    image, 256 - int(25.6 * level)
  ),
  'Posterize': lambda image, level: ImageOps.posterize(
    image, 4 - int(0.4 * level)
  ),
  'Color': _enhance(ImageEnhance.Color),
  'Contrast': _enhance(ImageEnhance.Contrast),
  'Brightness': _enhance(ImageEnhance.Brightness),
  'Sharpness': _enhance(ImageEnhance.Sharpness),
}
_TWO_WAYS = {
  'Rotate': lambda image, level: image.rotate(
    3 * level, fillcolor=(_GREY,) * 3
  ),
  'ShearX': _affine(1, lambda level: level * 0.3 / 10),
  'ShearY': _affine(3, lambda level: level * 0.3 / 10),
  'TranslateX': _affine(2, lambda level: level),
  'TranslateY': _affine(5, lambda level: level),
}


def _operations():
  return {each.name: each for each in fixmatch_policy.create_operations()}


class PoolTest(parameterized.TestCase, tf.test.TestCase):
  def test_has_the_14_operations(self):
    self.assertLen(fixmatch_policy.create_operations(), 14)
    self.assertSameElements(
      _operations(), [*_WITHOUT_LEVEL, *_ONE_WAY, *_TWO_WAYS]
    )

  @parameterized.product(name=list(_WITHOUT_LEVEL), size=[(32, 32), (40, 25)])
  def test_operation_without_level(self, name, size):
    images = pillow.create_images(*size)
    operation = _operations()[name]
    views = operation.apply(
      tf.cast(images, tf.float32),
      operation.draw(len(images), policy_test_case.SEED),
    )
    self.assertAllEqual(views, pillow.apply(_WITHOUT_LEVEL[name], images))

  @parameterized.product(
    name=[*_ONE_WAY, *_TWO_WAYS], size=[(32, 32), (40, 25)]
  )
  def test_operation_at_each_level(self, name, size):
    levels = _LEVELS
    if name in _TWO_WAYS:
      levels += tuple(-level for level in levels)
    images = np.repeat(pillow.create_images(*size)[::2], len(levels), axis=0)
    levels = np.resize(np.array(levels, np.int32), len(images))
    views = _operations()[name].apply(
      tf.cast(images, tf.float32), tf.constant(levels)
    )
    expected = pillow.apply({**_ONE_WAY, **_TWO_WAYS}[name], images, levels)
    self.assertAllEqual(views, expected)

  @parameterized.parameters(*_ONE_WAY, *_TWO_WAYS)
  def test_all_levels_are_equally_likely(self, name):
    num_draws = 3600
    expected = set(_LEVELS)
    if name in _TWO_WAYS:
      expected |= {-level for level in _LEVELS}
    levels = _operations()[name].draw(num_draws, policy_test_case.SEED).numpy()
    values, counts = np.unique(levels, return_counts=True)
    self.assertEqual(set(values.tolist()), expected)
    # Chi-square with one degree of freedom fewer than there are values.
    mean = num_draws / len(values)
    freedom = len(values) - 1
    self.assertLess(
      np.sum((counts - mean) ** 2 / mean), freedom + 5 * np.sqrt(2 * freedom)
    )


class BuildFixMatchRandAugmentTest(policy_test_case.PolicyTestCase):
  build = fixmatch_policy.build_fixmatch_rand_augment

  def test_covers_a_box_around_any_pixel(self):
    num_images, size = 10000, 32
    # Black stays black, but for what an operation brings in from outside, or
    # inverts. The views that show a single box tell where boxes are.
    images = np.zeros([num_images, size, size, 1], np.uint8)
    covered = self.augment(images).numpy()[..., 0] == _GREY
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

  @parameterized.parameters((96, 16), (32, 16), (28, 14), (8, 4))
  def test_box_is_at_most_half_of_the_image(self, size, expected):
    images = np.full([200, size, size, 1], 0, np.uint8)
    covered = self.augment(images).numpy()[..., 0] == _GREY
    # Most often the box is inside, and no other mid-grey comes in.
    areas = np.bincount(covered.sum(axis=(1, 2)))
    self.assertEqual(areas.argmax(), expected**2)

  def test_every_view_is_covered(self):
    images = np.full([500, 32, 32, 3], 200, np.uint8)
    covered = (self.augment(images).numpy() == _GREY).all(axis=3)
    # The smallest boxes are in the corner around the first pixel: 8x8.
    self.assertGreaterEqual(covered.sum(axis=(1, 2)).min(), 64)

  def test_as_many_views_are_only_covered_as_follows(self):
    num_images = 4000
    # All but Identity change noise, and more of it than the box covers.
    noise = np.random.default_rng(0).integers(
      20, 230, size=[1, 48, 48, 3], dtype=np.uint8
    )
    views = self.augment(np.repeat(noise, num_images, axis=0)).numpy()
    is_same = (views == noise) | (views == _GREY).all(axis=3, keepdims=True)
    # Neither of both steps applies one of the 13 other operations.
    expected = (1 - 13 / 14 * 1 / 2) ** 2
    self.assertAllClose(
      is_same.all(axis=(1, 2, 3)).mean(),
      expected,
      rtol=0,
      atol=5 * np.sqrt(expected * (1 - expected) / num_images),
    )


if __name__ == '__main__':
  absltest.main()
