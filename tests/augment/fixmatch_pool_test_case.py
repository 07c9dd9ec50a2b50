# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that hold for each version of FixMatch's RandAugment (C.3)."""

from collections.abc import Callable

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
_SIZES = ((32, 32), (28, 40))
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


def _affine(
  position: int, compute_amount: Callable[[int, Image.Image], float], fill: int
):
  """Returns Pillow's affine map as a function of an image and a level."""

  def transform(image, level):
    numbers = [1, 0, 0, 0, 1, 0]
    numbers[position] = compute_amount(level, image)
    return image.transform(
      image.size, Image.Transform.AFFINE, numbers, fillcolor=(fill,) * 3
    )

  return transform


def create_operations_of_pillow(
  *,
  enhance: Callable[[int], float],
  posterize: Callable[[int], int],
  translate: Callable[[int, int], float],
  fill: int,
) -> dict[str, Callable[[Image.Image, int], Image.Image]]:
  """Returns the operations with a level, (image, level) -> image, by name."""

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
    'ShearX': _affine(1, lambda level, _: level * 0.3 / 10, fill),
    'ShearY': _affine(3, lambda level, _: level * 0.3 / 10, fill),
    'TranslateX': _affine(
      2, lambda level, image: translate(level, image.size[0]), fill
    ),
    'TranslateY': _affine(
      5, lambda level, image: translate(level, image.size[1]), fill
    ),
  }


class FixMatchPoolTestCase(policy_test_case.PolicyTestCase):
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

  @parameterized.product(name=list(_WITHOUT_LEVEL), size=_SIZES)
  def test_operation_without_level(self, name, size):
    images = pillow.create_images(*size)
    operation = self._create_operation(name)
    views = operation.apply(
      tf.cast(images, tf.float32),
      operation.draw(len(images), policy_test_case.SEED),
    )
    self.assertAllEqual(views, pillow.apply(_WITHOUT_LEVEL[name], images))

  @parameterized.product(name=[*_ONE_WAY, *_TWO_WAYS], size=_SIZES)
  def test_operation_at_each_level(self, name, size):
    levels = _LEVELS
    if name in _TWO_WAYS:
      levels += tuple(-level for level in levels)
    images = np.repeat(pillow.create_images(*size)[::2], len(levels), axis=0)
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
