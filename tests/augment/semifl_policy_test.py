# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL's RandAugment, against Pillow and the odds of C.3."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
from PIL import ImageEnhance
from PIL import ImageOps
import tensorflow as tf

from tests.augment import pillow
from tests.augment import policy_test_case
from tff_semifl.augment import semifl_policy

_BILINEAR = Image.Resampling.BILINEAR


def _affine(position, amount):
  """Pillow's affine map, with bilinear interpolation and black outside."""

  def transform(image, sign):
    numbers = [1, 0, 0, 0, 1, 0]
    numbers[position] = sign * amount
    return image.transform(
      image.size, Image.Transform.AFFINE, numbers, _BILINEAR
    )

  return transform


def _enhance(enhancement):
  return lambda image: enhancement(image).enhance(1.9)


def _cut_out(image, point):
  """CutoutConst of the authors' code at full strength, written differently."""
  box = []
  for fraction, size in zip(point, image.size, strict=True):
    first = max(0, int(np.float32(fraction * np.float32(size)) - 20))
    box.append((first, min(size, first + 40)))
  (left, right), (top, bottom) = box
  ImageDraw.Draw(image).rectangle((left, top, right, bottom), (127,) * 3)
  return image


# The table of C.3; the second half are operations that are told what to do.
_WITHOUT_PARAMETERS = {
  'AutoContrast': ImageOps.autocontrast,
  'Brightness': _enhance(ImageEnhance.Brightness),
  'Color': _enhance(ImageEnhance.Color),
  'Contrast': _enhance(ImageEnhance.Contrast),
  'Equalize': ImageOps.equalize,
  'Invert': ImageOps.invert,
  'Posterize': lambda image: ImageOps.posterize(image, 4),
  'Sharpness': _enhance(ImageEnhance.Sharpness),
  'Solarize': lambda image: ImageOps.solarize(image, 0),
}
_WITH_PARAMETERS = {
  'CutoutConst': _cut_out,
  'Rotate': lambda image, sign: image.rotate(30 * sign),
  'ShearX': _affine(1, 0.3),
  'ShearY': _affine(3, 0.3),
  'TranslateXConst': _affine(2, 100),
  'TranslateYConst': _affine(5, 100),
}


def _create_noise():
  """One image that no operation but a translation makes black or white."""
  return np.random.default_rng(0).integers(
    20, 230, size=[1, 32, 32, 3], dtype=np.uint8
  )


def _operations():
  return {each.name: each for each in semifl_policy.create_operations()}


class PoolTest(parameterized.TestCase, tf.test.TestCase):
  def test_has_the_15_operations(self):
    self.assertLen(semifl_policy.create_operations(), 15)
    self.assertSameElements(
      _operations(), [*_WITHOUT_PARAMETERS, *_WITH_PARAMETERS]
    )

  @parameterized.product(name=list(_WITHOUT_PARAMETERS))
  def test_operation_without_parameters(self, name):
    images = pillow.create_images(40, 25)
    views = _operations()[name].apply(tf.cast(images, tf.float32), ())
    self.assertAllEqual(views, pillow.apply(_WITHOUT_PARAMETERS[name], images))

  @parameterized.product(
    # A translation by 100 pixels leaves part of larger images.
    name=list(_WITH_PARAMETERS),
    size=[(32, 32), (120, 110)],
  )
  def test_operation_with_parameters(self, name, size):
    images = pillow.create_images(*size)[::3]
    operation = _operations()[name]
    parameters = operation.draw(len(images), policy_test_case.SEED)
    views = operation.apply(tf.cast(images, tf.float32), parameters)
    self.assertAllEqual(
      views, pillow.apply(_WITH_PARAMETERS[name], images, parameters.numpy())
    )

  def test_cutouts_cover_as_much_as_was_computed(self):
    num_images = 4000
    operation = _operations()['CutoutConst']
    images = tf.zeros([num_images, 32, 32, 3])
    views = operation.apply(
      images, operation.draw(num_images, policy_test_case.SEED)
    ).numpy()
    covered = (views[..., 0] == 127).mean(axis=(1, 2))
    # The box reaches the last row and column, and begins at int(u - 20), or at
    # 0 for u < 21, where u is uniform on 0..32: at 0 with odds of 21 in 32, at
    # 1 to 11 with odds of 1 in 32. That is 0.88 of the image and, for 0 both
    # ways, all of it in 43% of the cases.
    begins = np.repeat(np.arange(12), [21, *[1] * 11])
    lengths = (32 - begins) / 32
    self.assertAllClose(lengths.mean() ** 2, 0.88, atol=5e-3)
    spread = np.outer(lengths, lengths).std()
    self.assertAllClose(
      covered.mean(),
      lengths.mean() ** 2,
      rtol=0,
      atol=5 * spread / np.sqrt(num_images),
    )
    odds = (21 / 32) ** 2
    self.assertAllClose(
      np.mean(covered == 1),
      odds,
      rtol=0,
      atol=5 * np.sqrt(odds * (1 - odds) / num_images),
    )
    # Begins and odds of both axes, and that they are drawn apart.
    first_row = (views[..., 0] == 127).any(axis=2).argmax(axis=1)
    first_column = (views[..., 0] == 127).any(axis=1).argmax(axis=1)
    for first in (first_row, first_column):
      self.assertEqual(set(first.tolist()), set(range(12)))
      self.assertLess(
        abs(first.mean() - begins.mean()),
        5 * begins.std() / np.sqrt(num_images),
      )
    correlation = np.corrcoef(first_row, first_column)[0, 1]
    self.assertLess(abs(correlation), 5 / np.sqrt(num_images))


class BuildSemiFLRandAugmentTest(policy_test_case.PolicyTestCase):
  build = semifl_policy.build_semifl_rand_augment
  jit_compile = True

  def test_as_many_views_are_black_white_or_unchanged_as_follows(self):
    num_images = 2000
    # Each operation changes noise, and only inversions (Invert and Solarize)
    # cancel each other.
    images = np.repeat(_create_noise(), num_images, axis=0)
    views = self.augment(images).numpy()
    pixels = views.reshape(num_images, -1)
    is_blank = (pixels == 0).all(axis=1) | (pixels == 255).all(axis=1)
    # Translated by the second operation; or by the first, and then neither
    # translated again nor covered by a gray box.
    self.assert_share(is_blank, 1 / 15 + 1 / 15 * (1 - 1 / 15 - 1 / 30))
    is_unchanged = (views == images).all(axis=(1, 2, 3))
    # Applied neither of both, or two inversions.
    self.assert_share(is_unchanged, 1 / 4 + 1 / 4 * (2 / 15) ** 2)


if __name__ == '__main__':
  absltest.main()
