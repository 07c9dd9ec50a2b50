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


def _affine(position, amount):
  return pillow.affine(
    position,
    lambda _, sign: sign * amount,
    resample=Image.Resampling.BILINEAR,
  )


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
