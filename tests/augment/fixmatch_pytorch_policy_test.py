# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch's RandAugment in PyTorch: the operations are Pillow's."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
from PIL import ImageEnhance
from PIL import ImageOps
import tensorflow as tf

from tests.augment import everywhere
from tests.augment import pillow
from tff_semifl.augment import fixmatch_pytorch_policy
from tff_semifl.augment import geometric_operations

_SEED = tf.constant([3, 4])
_LEVELS = tuple(range(1, 10))
_GREY = 127


def _affine(position, amount):
  """Pillow's affine map by the amount of a level, black outside."""

  def transform(image, level):
    numbers = [1, 0, 0, 0, 1, 0]
    numbers[position] = amount(level, image)
    return image.transform(image.size, Image.Transform.AFFINE, numbers)

  return transform


def _enhance(enhancement):
  return lambda image, level: enhancement(image).enhance(
    level * 0.9 / 10 + 0.05
  )


# The numbers of C.3 at a level; max_v is of ten.
_WITHOUT_LEVEL = {
  'Identity': lambda image: image,
  'AutoContrast': ImageOps.autocontrast,
  'Equalize': ImageOps.equalize,
}
_ONE_WAY = {
  'Solarize': lambda image, level: ImageOps.solarize(
    image, 256 - int(level * 256 / 10)
  ),
  'Posterize': lambda image, level: ImageOps.posterize(
    image, int(level * 4 / 10) + 4
  ),
  'Color': _enhance(ImageEnhance.Color),
  'Contrast': _enhance(ImageEnhance.Contrast),
  'Brightness': _enhance(ImageEnhance.Brightness),
  'Sharpness': _enhance(ImageEnhance.Sharpness),
}
_TWO_WAYS = {
  'Rotate': lambda image, level: image.rotate(int(level * 30 / 10)),
  'ShearX': _affine(1, lambda level, _: level * 0.3 / 10),
  'ShearY': _affine(3, lambda level, _: level * 0.3 / 10),
  'TranslateX': _affine(
    2, lambda level, image: int(level * 0.3 / 10 * image.size[0])
  ),
  'TranslateY': _affine(
    5, lambda level, image: int(level * 0.3 / 10 * image.size[1])
  ),
}


def _operations():
  return {
    each.name: each for each in fixmatch_pytorch_policy.create_operations()
  }


class PoolTest(parameterized.TestCase, tf.test.TestCase):
  def test_has_the_14_operations(self):
    self.assertLen(fixmatch_pytorch_policy.create_operations(), 14)
    self.assertSameElements(
      _operations(), [*_WITHOUT_LEVEL, *_ONE_WAY, *_TWO_WAYS]
    )

  @parameterized.product(name=list(_WITHOUT_LEVEL), size=[(32, 32), (28, 40)])
  def test_operation_without_level(self, name, size):
    images = pillow.create_images(*size)
    operation = _operations()[name]
    views = operation.apply(
      tf.cast(images, tf.float32), operation.draw(len(images), _SEED)
    )
    self.assertAllEqual(views, pillow.apply(_WITHOUT_LEVEL[name], images))

  @parameterized.product(
    name=[*_ONE_WAY, *_TWO_WAYS], size=[(32, 32), (28, 40)]
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
  def test_levels_that_are_drawn(self, name):
    expected = set(_LEVELS)
    if name in _TWO_WAYS:
      expected |= {-level for level in _LEVELS}
    levels = _operations()[name].draw(3600, _SEED).numpy()
    values, counts = np.unique(levels, return_counts=True)
    self.assertEqual(set(values.tolist()), expected)
    # Each is as likely: 200 or 400, within 5 standard deviations.
    mean = 3600 / len(expected)
    self.assertLess(np.abs(counts - mean).max(), 5 * np.sqrt(mean))


class CutoutTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((32, 16), (28, 14), (20, 7))
  def test_box_is_that_of_the_authors(self, size, num_pixels):
    images = np.zeros([40, size, size, 1], np.uint8)
    points = np.random.default_rng(0).random([40, 2]).astype(np.float32)
    found = geometric_operations.cut_out_beside(
      tf.constant(images), points, num_pixels=num_pixels, fill=_GREY
    )
    for view, (x, y) in zip(found.numpy(), points, strict=True):
      image = Image.new('L', (size, size))
      first = [
        int(max(0, p * np.float32(size) - num_pixels / 2)) for p in (x, y)
      ]
      last = [int(min(size, p + num_pixels)) for p in first]
      ImageDraw.Draw(image).rectangle([*first, *last], _GREY)
      self.assertAllEqual(view[..., 0], np.asarray(image))

  @parameterized.parameters((96, 16), (32, 16), (28, 14))
  def test_every_view_has_one(self, size, num_pixels):
    images = np.zeros([300, size, size, 1], np.uint8)
    augment = fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment()
    covered = augment(tf.constant(images), _SEED).numpy()[..., 0] == _GREY
    areas = covered.sum(axis=(1, 2))
    # A pixel more where all fit; where the border cuts some off, at the end.
    self.assertGreaterEqual(areas.min(), (num_pixels // 2) ** 2)
    # What black brings about before that is black, or white.
    self.assertEqual(areas.max(), (num_pixels + 1) ** 2)


class BuildTest(parameterized.TestCase, tf.test.TestCase):
  def test_as_many_views_are_only_covered_as_follows(self):
    num_images = 4000
    noise = np.random.default_rng(0).integers(
      20, 230, size=[1, 48, 48, 3], dtype=np.uint8
    )
    augment = fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment()
    views = augment(tf.repeat(noise, num_images, axis=0), _SEED).numpy()
    is_same = (views == noise) | (views == _GREY).all(axis=3, keepdims=True)
    # Neither of both steps applies one that changes noise. Posterising at
    # level 9 or 8 keeps 7 bits: it changes it too.
    expected = (1 - 13 / 14 * 1 / 2) ** 2
    self.assertAllClose(
      is_same.all(axis=(1, 2, 3)).mean(),
      expected,
      rtol=0,
      atol=5 * np.sqrt(expected * (1 - expected) / num_images),
    )

  def test_same_everywhere(self):
    images = pillow.create_images(28, 28)[..., :1]
    views = everywhere.run_everywhere(
      fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment(),
      images,
      _SEED,
    )
    self.assertEqual(views['eager'].dtype, np.uint8)
    self.assertAllEqual(views['graph'], views['eager'])
    self.assertAllEqual(views['dataset'], views['eager'])

  def test_same_seed_same_views(self):
    images = tf.constant(pillow.create_images())
    augment = fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment()
    first, again, other = (
      augment(images, tf.constant(seed)) for seed in ([1, 2], [1, 2], [2, 2])
    )
    self.assertAllEqual(first, again)
    self.assertNotAllEqual(first, other)

  def test_no_images(self):
    augment = fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment()
    views = augment(tf.zeros([0, 28, 28, 1], tf.uint8), _SEED)
    self.assertEqual(views.shape, [0, 28, 28, 1])


if __name__ == '__main__':
  absltest.main()
