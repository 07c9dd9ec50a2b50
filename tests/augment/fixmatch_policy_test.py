# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of both versions of FixMatch's RandAugment, against Pillow."""

from collections.abc import Callable
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageEnhance
from PIL import ImageOps
import pytest
import tensorflow as tf

from tests.augment import pillow
from tests.augment import policy_test_case
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import rand_augment

GRAY = 127
_LEVELS = tuple(range(1, 10))
_SIZE = (28, 40)
_WITHOUT_LEVEL = {
  'Identity': lambda image: image,
  'AutoContrast': ImageOps.autocontrast,
  'Equalize': ImageOps.equalize,
}
_ONE_WAY = (
  'Brightness',
  'Color',
  'Contrast',
  'Posterize',
  'Sharpness',
  'Solarize',
)
_TWO_WAYS = ('Rotate', 'ShearX', 'ShearY', 'TranslateX', 'TranslateY')


def _create_operations_of_pillow(
  *,
  enhance: Callable[[int], float],
  posterize: Callable[[int], int],
  translate: Callable[[int, int], float],
  fill: int,
) -> dict[str, Callable[[Image.Image, int], Image.Image]]:
  """Returns the operations with a level, (image, level) -> image, by name."""

  affine = functools.partial(pillow.affine, fill=fill)

  def create_enhancement(name):
    enhancement = getattr(ImageEnhance, name)
    return lambda image, level: enhancement(image).enhance(enhance(level))

  return {
    **{
      name: create_enhancement(name)
      for name in ('Brightness', 'Color', 'Contrast', 'Sharpness')
    },
    'Posterize': lambda image, level: ImageOps.posterize(
      image, posterize(level)
    ),
    'Solarize': lambda image, level: ImageOps.solarize(
      image, 256 - int(25.6 * level)
    ),
    'Rotate': lambda image, level: image.rotate(
      3 * level, fillcolor=(fill,) * 3
    ),
    'ShearX': affine(1, lambda _, level: level * 0.3 / 10),
    'ShearY': affine(3, lambda _, level: level * 0.3 / 10),
    'TranslateX': affine(2, lambda im, level: translate(level, im.size[0])),
    'TranslateY': affine(5, lambda im, level: translate(level, im.size[1])),
  }


class _FixMatchPoolTest(policy_test_case.PolicyTestCase):
  """Tests of a version."""

  version: fixmatch_policy.Version
  of_pillow: dict[str, Callable[[Image.Image, int], Image.Image]]

  def _create_operation(self, name: str) -> rand_augment.Operation:
    (operation,) = (
      each
      for each in fixmatch_policy.create_operations(self.version)
      if each.name == name
    )
    return operation

  def test_has_the_14_operations(self):
    self.assertCountEqual(
      [each.name for each in fixmatch_policy.create_operations(self.version)],
      [*_WITHOUT_LEVEL, *_ONE_WAY, *_TWO_WAYS],
    )

  @parameterized.parameters(*_WITHOUT_LEVEL)
  def test_operation_without_level(self, name):
    images = pillow.create_images(*_SIZE)
    views = self._create_operation(name).apply(tf.cast(images, tf.float32), ())
    self.assertAllEqual(views, pillow.apply(_WITHOUT_LEVEL[name], images))

  @parameterized.parameters(*_ONE_WAY, *_TWO_WAYS)
  def test_operation_at_each_level(self, name):
    levels = _LEVELS
    if name in _TWO_WAYS:
      levels += tuple(-level for level in levels)
    images = np.repeat(pillow.create_images(*_SIZE)[::2], len(levels), axis=0)
    levels = np.resize(np.array(levels, np.int32), len(images))
    views = self._create_operation(name).apply(
      tf.cast(images, tf.float32), tf.constant(levels)
    )
    expected = pillow.apply(self.of_pillow[name], images, levels)
    self.assertAllEqual(views, expected)

  @parameterized.parameters(_ONE_WAY[0], _TWO_WAYS[0])
  def test_all_levels_are_equally_likely(self, name):
    num_draws = 3600
    expected = set(_LEVELS)
    if name in _TWO_WAYS:
      expected |= {-level for level in _LEVELS}
    draw = self._create_operation(name).draw
    values, counts = np.unique(
      draw(num_draws, policy_test_case.SEED), return_counts=True
    )
    self.assertEqual(set(values.tolist()), expected)
    # Chi-square with one degree of freedom fewer than there are values.
    mean = num_draws / len(values)
    freedom = len(values) - 1
    self.assertLess(
      np.sum((counts - mean) ** 2 / mean), freedom + 5 * np.sqrt(2 * freedom)
    )

  @pytest.mark.slow
  def test_as_many_views_are_only_covered_as_follows(self):
    num_images = 4000
    # All but Identity change noise, and more of it than the box covers. Also
    # posterizing at level 9, which leaves at most 7 of 8 bits.
    noise = np.random.default_rng(0).integers(
      20, 230, size=[1, 48, 48, 3], dtype=np.uint8
    )
    views = self.augment(np.repeat(noise, num_images, axis=0)).numpy()
    is_same = (views == noise) | (views == GRAY).all(axis=3, keepdims=True)
    # Neither of both steps applies one of the 13 other operations.
    expected = (1 - 13 / 14 * 1 / 2) ** 2
    self.assert_share(is_same.all(axis=(1, 2, 3)), expected)


class BuildFixMatchRandAugmentTest(_FixMatchPoolTest):
  build = fixmatch_policy.build_fixmatch_rand_augment
  jit_compile = True
  version = fixmatch_policy.FIXMATCH
  of_pillow = _create_operations_of_pillow(
    enhance=lambda level: level * 1.8 / 10 + 0.1,
    posterize=lambda level: 4 - int(0.4 * level),
    translate=lambda level, size: level,
    fill=GRAY,
  )

  def test_covers_a_box_around_any_pixel(self):
    num_images, size = 4000, 32
    # Black stays black, but for what an operation brings in from outside, or
    # inverts. The views that show a single box tell where boxes are.
    images = np.zeros([num_images, size, size, 1], np.uint8)
    covered = self.augment(images).numpy()[..., 0] == GRAY
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
    covered = self.augment(images).numpy()[..., 0] == GRAY
    # Most often the box is inside, and no other mid-gray comes in.
    areas = np.bincount(covered.sum(axis=(1, 2)))
    self.assertEqual(areas.argmax(), expected**2)


class BuildFixMatchPyTorchRandAugmentTest(_FixMatchPoolTest):
  build = fixmatch_policy.build_fixmatch_pytorch_rand_augment
  version = fixmatch_policy.FIXMATCH_PYTORCH
  of_pillow = _create_operations_of_pillow(
    enhance=lambda level: level * 0.9 / 10 + 0.05,
    posterize=lambda level: int(level * 4 / 10) + 4,
    translate=lambda level, size: int(level * 0.3 / 10 * size),
    fill=0,
  )

  @parameterized.parameters((96, 16), (28, 14))
  def test_every_view_has_one(self, size, num_pixels):
    images = np.zeros([300, size, size, 1], np.uint8)
    covered = self.augment(images).numpy()[..., 0] == GRAY
    areas = covered.sum(axis=(1, 2))
    # A pixel more where all fit; where the border cuts some off, at the end.
    self.assertGreaterEqual(areas.min(), (num_pixels // 2) ** 2)
    # Operations before the cutout make black pixels black or white, never gray.
    self.assertEqual(areas.max(), (num_pixels + 1) ** 2)


# Not a test by itself.
del _FixMatchPoolTest

if __name__ == '__main__':
  absltest.main()
