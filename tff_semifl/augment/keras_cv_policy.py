# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""RandAugment with KerasCV's operations, strengths and odds.

KerasCV's own `RandAugment` layer draws from hidden generators: its views can
not be repeated, and inside a TFF computation it does not trace at all. The
image operations themselves are deterministic functions of parameters, so this
module draws the parameters as the layer would, by stateless ops, and lets
KerasCV do the rest.
"""

from collections.abc import Callable
import contextlib
import functools
import importlib
import importlib.util
import io
import sys
import threading
import types
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.randomness import random_seeds

_VALUE_RANGE = (0, 255)
_IMPORT_LOCK = threading.Lock()
# Without a seed, or with 0, the layers would ask for the global generator; they
# are never made to draw.
_UNUSED_SEED = 1


def build_keras_cv_rand_augment(
  *,
  magnitude: float = 0.5,
  magnitude_standard_deviation: float = 0.15,
  num_operations: int = 3,
  application_probability: float = 10 / 11,
) -> augmentation.Augmentation:
  """Builds KerasCV's standard RandAugment as a function of images and a seed.

  The defaults are those of `keras_cv.layers.RandAugment`.

  Args:
    magnitude: Strength of every operation, in [0, 1].
    magnitude_standard_deviation: Spread of the strength, in [0, 1], where the
      layer draws it from a normal distribution.
    num_operations: Operations drawn for each image.
    application_probability: How likely a drawn operation is to be applied.

  Returns:
    A function of uint8 images [batch, height, width, 1 or 3] and a stateless
    seed, int32 [2], that returns images of the same shape and dtype.

  Raises:
    ValueError: If a strength or probability is not in [0, 1].
  """
  for name, value in (
    ('magnitude', magnitude),
    ('magnitude_standard_deviation', magnitude_standard_deviation),
    ('application_probability', application_probability),
  ):
    if not 0 <= value <= 1:
      raise ValueError(f'`{name}` must be in [0, 1], found {value}.')
  return functools.partial(
    rand_augment.apply_random_operations,
    operations=create_operations(magnitude, magnitude_standard_deviation),
    num_operations=num_operations,
    application_probability=application_probability,
  )


def build_gentle_rand_augment() -> augmentation.Augmentation:
  """Builds KerasCV's RandAugment with strengths close to FixMatch's.

  An image has two operations, of strengths about 0.3: shears by about that, and
  shifts by up to that share of a side, much as in FixMatch's pool for PyTorch.
  KerasCV's own defaults are three operations and 0.5.

  Returns:
    A function of images and a seed, as `build_keras_cv_rand_augment` returns.
  """
  return build_keras_cv_rand_augment(magnitude=0.3, num_operations=2)


# A program creates its task several times.
@functools.lru_cache(maxsize=1)
def create_operations(
  magnitude: float, standard_deviation: float
) -> tuple[rand_augment.Operation, ...]:
  """Creates the ten operations of `keras_cv.layers.RandAugment`.

  Args:
    magnitude: Strength of every operation, in [0, 1].
    standard_deviation: Spread of the strength, in [0, 1].

  Returns:
    The operations, in the layer's order.
  """
  layers = _import_layers()
  # Layers make tensors and generators that are never used here. Outside of a
  # graph, TensorFlow would begin to compute, and its threads would be fixed.
  with tf.Graph().as_default():
    return tuple(_create_operations(layers, magnitude, standard_deviation))


def _import_layers() -> types.ModuleType:
  """Imports KerasCV's layers, and no models, data sets and plots of it.

  These take three times as long to import. The packages around the layers,
  which would import them, are not run, and are forgotten afterwards: whoever
  imports KerasCV later gets all that is public, with the same layers.

  Returns:
    `keras_cv.layers`, or the module that it takes layers from.
  """
  # KerasCV prints a remark to stdout, where programs print their results.
  with _IMPORT_LOCK, contextlib.redirect_stdout(io.StringIO()):
    if 'keras_cv' in sys.modules:
      return importlib.import_module('keras_cv.layers')
    packages = ('keras_cv', 'keras_cv.src')
    try:
      for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None:
          raise ModuleNotFoundError(f'No module named {name!r}', name=name)
        sys.modules[name] = importlib.util.module_from_spec(spec)
      return importlib.import_module('keras_cv.src.layers')
    finally:
      for name in packages:
        sys.modules.pop(name, None)


def _create_operations(
  layers: types.ModuleType, magnitude: float, standard_deviation: float
) -> list[rand_augment.Operation]:
  seed = _UNUSED_SEED
  shear = layers.RandomShear(0.0, 0.0, seed=seed)
  translate = layers.RandomTranslation(0.0, 0.0, seed=seed)

  def clipped_normal(mean: float, maximum: float):
    """Draws from a normal around `mean`, clipped to [0, maximum]."""
    return lambda shape, seed: tf.clip_by_value(
      tf.random.stateless_normal(
        shape, seed, mean=mean, stddev=standard_deviation * maximum
      ),
      0.0,
      maximum,
    )

  def uniform(low: float, high: float):
    return lambda shape, seed: tf.random.stateless_uniform(
      shape, seed, minval=low, maxval=high
    )

  def per_image(draw, *trailing):
    return lambda num_images, seed: draw([num_images, *trailing], seed)

  def nothing(num_images, seed):
    del num_images, seed  # Unused.
    return ()

  def solarization(num_images, seed):
    shape = [num_images, 1, 1, 1]
    return {
      'additions': clipped_normal(110.0 * magnitude, 110.0)(
        shape, random_seeds.fold_in(seed, 0)
      ),
      'thresholds': clipped_normal(255.0 * (1.0 - magnitude), 255.0)(
        shape, random_seeds.fold_in(seed, 1)
      ),
    }

  def signed_shear(num_images, seed):
    shape = [num_images, 1]
    amount = clipped_normal(magnitude, 1.0)(
      shape, random_seeds.fold_in(seed, 0)
    )
    sign = tf.sign(uniform(-1.0, 1.0)(shape, random_seeds.fold_in(seed, 1)))
    return sign * amount

  def shear_along(axis: str) -> Callable[[tf.Tensor, Any], tf.Tensor]:
    other = {'shear_x': 'shear_y', 'shear_y': 'shear_x'}[axis]
    return lambda images, amount: shear.augment_images(
      images, transformations={axis: amount, other: None}
    )

  def translate_along(axis: str) -> Callable[[tf.Tensor, Any], tf.Tensor]:
    other = {
      'width_translations': 'height_translations',
      'height_translations': 'width_translations',
    }[axis]
    return lambda images, fraction: translate.augment_images(
      images,
      transformations={axis: fraction, other: tf.zeros_like(fraction)},
    )

  def of(layer: tf.keras.layers.Layer):
    return lambda images, parameters: layer.augment_images(
      images, transformations=parameters
    )

  def degenerate(images, parameters):
    # A layer of this class does not pass its seed on. The method needs none.
    return layers.RandomColorDegeneration.augment_images(
      None, images, transformations=parameters
    )

  uniform_magnitude = per_image(uniform(-magnitude, magnitude), 1)
  operation = rand_augment.Operation
  # XLA has neither their histogram nor their transformation.
  not_by_xla = functools.partial(operation, can_be_compiled=False)
  return [
    operation(
      'AutoContrast', nothing, of(layers.AutoContrast(_VALUE_RANGE, seed=seed))
    ),
    not_by_xla(
      'Equalization', nothing, of(layers.Equalization(_VALUE_RANGE, seed=seed))
    ),
    operation(
      'Solarization',
      solarization,
      of(layers.Solarization(_VALUE_RANGE, seed=seed)),
    ),
    operation(
      'RandomColorDegeneration',
      per_image(clipped_normal(magnitude, 1.0), 1, 1, 1),
      degenerate,
    ),
    operation(
      'RandomContrast',
      per_image(uniform(1.0 - magnitude, 1.0 + magnitude), 1, 1, 1),
      of(layers.RandomContrast(_VALUE_RANGE, 0.5, seed=seed)),
    ),
    operation(
      'RandomBrightness',
      per_image(uniform(-255.0 * magnitude, 255.0 * magnitude), 1, 1, 1),
      of(layers.RandomBrightness(0.0, _VALUE_RANGE, seed=seed)),
    ),
    not_by_xla('RandomShearX', signed_shear, shear_along('shear_x')),
    not_by_xla('RandomShearY', signed_shear, shear_along('shear_y')),
    not_by_xla(
      'RandomTranslationX',
      uniform_magnitude,
      translate_along('width_translations'),
    ),
    not_by_xla(
      'RandomTranslationY',
      uniform_magnitude,
      translate_along('height_translations'),
    ),
  ]
