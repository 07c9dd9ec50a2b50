# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the papers' RandAugment, against Pillow and expected frequencies."""

from collections.abc import Callable, Sequence
import functools
from typing import Any

from absl.testing import parameterized
import numpy as np
from PIL import Image
from PIL import ImageDraw
from PIL import ImageEnhance
from PIL import ImageOps
import tensorflow as tf

from tests.augment import pillow
from tff_semifl.augment import fedmatch_policy
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import semifl_policy

_SEED = tf.constant([3, 4])
_GRAY = 127
_LEVELS = range(1, 10)
_SIGNS = (-1, 1)
# An operation of Pillow, (image, parameter) -> image, with its parameters:
# none, a list, or None if the operation draws them.
_Case = tuple[Callable[..., Image.Image], Sequence[Any] | None]


def _both(numbers: Sequence[int]) -> list[int]:
  return [*numbers, *(-number for number in numbers)]


def _enhance(
  name: str, to_factor: Callable[[int], float]
) -> Callable[[Image.Image, int], Image.Image]:
  enhancement = getattr(ImageEnhance, name)
  return lambda image, level: enhancement(image).enhance(to_factor(level))


def _fixmatch(
  *,
  factor: Callable[[int], float],
  num_bits: Callable[[int], int],
  shift: Callable[[int, int], float],
  fill: int,
) -> dict[str, _Case]:
  """The operations of a version of FixMatch's RandAugment, by name."""
  affine = functools.partial(pillow.affine, fill=fill)
  shear = lambda _, level: level * 0.3 / 10  # noqa: E731
  one_way = {
    'Posterize': lambda image, level: ImageOps.posterize(
      image, num_bits(level)
    ),
    'Solarize': lambda image, level: ImageOps.solarize(
      image, 256 - int(25.6 * level)
    ),
    **{
      name: _enhance(name, factor)
      for name in ('Brightness', 'Color', 'Contrast', 'Sharpness')
    },
  }
  two_ways = {
    'Rotate': lambda image, level: image.rotate(
      3 * level, fillcolor=(fill,) * 3
    ),
    'ShearX': affine(1, shear),
    'ShearY': affine(3, shear),
    'TranslateX': affine(2, lambda im, level: shift(level, im.size[0])),
    'TranslateY': affine(5, lambda im, level: shift(level, im.size[1])),
  }
  return {
    'Identity': (lambda image: image, ()),
    'AutoContrast': (ImageOps.autocontrast, ()),
    'Equalize': (ImageOps.equalize, ()),
    **{name: (each, list(_LEVELS)) for name, each in one_way.items()},
    **{name: (each, _both(_LEVELS)) for name, each in two_ways.items()},
  }


def _cut_out(image: Image.Image, point: np.ndarray) -> Image.Image:
  """CutoutConst of SemiFL's code at full strength, a second version."""
  box = []
  for fraction, size in zip(point, image.size, strict=True):
    first = max(0, int(np.float32(fraction * np.float32(size)) - 20))
    box.append((first, min(size, first + 40)))
  (left, right), (top, bottom) = box
  ImageDraw.Draw(image).rectangle((left, top, right, bottom), (_GRAY,) * 3)
  return image


def _semifl() -> dict[str, _Case]:
  def affine(position, amount):
    transform = pillow.affine(
      position,
      lambda _, sign: sign * amount,
      resample=Image.Resampling.BILINEAR,
    )
    return transform, _SIGNS

  return {
    'AutoContrast': (ImageOps.autocontrast, ()),
    'CutoutConst': (_cut_out, None),
    'Equalize': (ImageOps.equalize, ()),
    'Invert': (ImageOps.invert, ()),
    'Posterize': (lambda image: ImageOps.posterize(image, 4), ()),
    'Rotate': (lambda image, sign: image.rotate(30 * sign), _SIGNS),
    'ShearX': affine(1, 0.3),
    'ShearY': affine(3, 0.3),
    'Solarize': (lambda image: ImageOps.solarize(image, 0), ()),
    'TranslateXConst': affine(2, 100),
    'TranslateYConst': affine(5, 100),
    **{
      name: (lambda image, name=name: _enhance(name, float)(image, 1.9), ())
      for name in ('Brightness', 'Color', 'Contrast', 'Sharpness')
    },
  }


def _fedmatch() -> dict[str, _Case]:
  """FedMatch's operations at indices 0 to 4 of the authors' tables of ten."""

  def at(index, amount):
    return np.sign(index) * np.linspace(0, amount, 10)[abs(index)]

  def shear(position):
    return pillow.affine(
      position,
      lambda _, index: at(index, 0.3),
      resample=Image.Resampling.BILINEAR,
    )

  def translate(position, axis):
    return pillow.affine(
      position, lambda image, index: at(index, 0.2) * image.size[axis]
    )

  one_way = {
    'rotate': lambda image, index: image.rotate(
      at(index, 360), fillcolor=(128,) * 3
    ),
    'solarize': lambda image, index: ImageOps.solarize(
      image, np.linspace(256, 231, 10)[index]
    ),
    'posterize': lambda image, index: ImageOps.posterize(
      image, int(np.round(np.linspace(8, 4, 10))[index])
    ),
  }
  two_ways = {
    **{
      name: _enhance(
        name.title(), lambda index, amount=amount: 1 + at(index, amount)
      )
      for name, amount in (
        *(('color', 0.9), ('contrast', 0.5)),
        *(('brightness', 0.3), ('sharpness', 0.9)),
      )
    },
    'shearX': shear(1),
    'shearY': shear(3),
    'translateX': translate(2, 0),
    'translateY': translate(5, 1),
  }
  return {
    'autocontrast': (ImageOps.autocontrast, ()),
    'equalize': (lambda image: image, ()),
    **{name: (each, list(range(5))) for name, each in one_way.items()},
    **{name: (each, _both(range(5))) for name, each in two_ways.items()},
  }


_FIXMATCH_OPERATIONS = functools.partial(
  fixmatch_policy.create_operations, fixmatch_policy.FIXMATCH
)
# The operations of this project, and of Pillow.
_POLICIES = {
  'fixmatch': (
    _FIXMATCH_OPERATIONS,
    _fixmatch(
      factor=lambda level: level * 1.8 / 10 + 0.1,
      num_bits=lambda level: 4 - int(0.4 * level),
      shift=lambda level, size: level,
      fill=_GRAY,
    ),
  ),
  'fixmatch_pytorch': (
    functools.partial(
      fixmatch_policy.create_operations, fixmatch_policy.FIXMATCH_PYTORCH
    ),
    _fixmatch(
      factor=lambda level: level * 0.9 / 10 + 0.05,
      num_bits=lambda level: int(level * 4 / 10) + 4,
      shift=lambda level, size: int(level * 0.3 / 10 * size),
      fill=0,
    ),
  ),
  'semifl': (semifl_policy.create_operations, _semifl()),
  'fedmatch': (fedmatch_policy.create_operations, _fedmatch()),
}


class OperationsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    ('fixmatch', 14), ('fixmatch_pytorch', 14), ('semifl', 15), ('fedmatch', 13)
  )
  def test_are_those_of_the_paper(self, policy, number):
    create, of_pillow = _POLICIES[policy]
    self.assertCountEqual([each.name for each in create()], of_pillow)
    self.assertLen(of_pillow, number)

  @parameterized.parameters(
    (policy, name)
    for policy, (_, of_pillow) in _POLICIES.items()
    for name in of_pillow
  )
  def test_do_what_pillow_does(self, policy, name):
    create, of_pillow = _POLICIES[policy]
    (operation,) = (each for each in create() if each.name == name)
    theirs, parameters = of_pillow[name]
    # A translation by 100 pixels leaves a part of the larger images.
    for size in ((28, 40), (120, 110)):
      images = pillow.create_images(*size)[::3]
      rows = ()
      if parameters is None:
        rows = (operation.draw(len(images), _SEED).numpy(),)
      elif parameters:
        images = np.repeat(images, len(parameters), axis=0)
        rows = (np.resize(np.array(parameters, np.int32), len(images)),)
      views = operation.apply(
        tf.cast(images, tf.float32), tf.constant(rows[0]) if rows else ()
      ).numpy()
      expected = pillow.apply(theirs, images, *rows)
      if policy != 'fedmatch':
        self.assertAllEqual(views, expected)
        continue
      # Products of nine factors depend on the order of multiplication, so that
      # a truncated gray level may be one higher.
      difference = np.abs(views - expected.astype(np.float32))
      self.assertLessEqual(np.mean(difference > 0), 1e-3)
      self.assertLessEqual(np.quantile(difference, 0.9999), 1)

  @parameterized.parameters(('Color', _LEVELS), ('Rotate', _both(_LEVELS)))
  def test_levels_of_fixmatch_are_equally_likely(self, name, expected):
    num_draws = 3600
    (operation,) = (
      each for each in _FIXMATCH_OPERATIONS() if each.name == name
    )
    values, counts = np.unique(
      operation.draw(num_draws, _SEED), return_counts=True
    )
    self.assertSameElements(values.tolist(), expected)
    # Chi-square, with one degree of freedom fewer than values.
    mean = num_draws / len(values)
    freedom = len(values) - 1
    self.assertLess(
      np.sum((counts - mean) ** 2 / mean), freedom + 5 * np.sqrt(2 * freedom)
    )

  def test_indices_of_fedmatch_have_their_odds(self):
    num_draws = 20_000
    draws = {
      each.name: each.draw for each in fedmatch_policy.create_operations()
    }
    indices = draws['rotate'](num_draws, _SEED).numpy()
    # Each index is below a bound of 2, 3, 4 or 5.
    odds = [
      np.mean([(index < bound) / bound for bound in (2, 3, 4, 5)])
      for index in range(5)
    ]
    self.assertAlmostEqual(sum(odds), 1)
    self.assertAllClose(
      np.bincount(indices, minlength=5) / num_draws, odds, rtol=0, atol=0.02
    )
    signed = draws['color'](num_draws, _SEED).numpy()
    self.assertEqual(set(signed.tolist()), set(range(-4, 5)))
    self.assertEqual(fedmatch_policy.NUM_OPERATIONS, 6)
