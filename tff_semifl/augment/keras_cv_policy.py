# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""RandAugment with KerasCV's operations, strengths and probabilities.

KerasCV's `RandAugment` layer draws from hidden generators: its results cannot
be repeated, and TFF computations cannot trace it. Here parameters are drawn by
stateless ops, and KerasCV's deterministic operations do the rest.
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
from tff_semifl.randomness import random_draws

_VALUE_RANGE = (0, 255)
_IMPORT_LOCK = threading.Lock()
# Without a seed or with 0, layers would use the global generator. They never
# draw here.
_UNUSED_SEED = 1


def build_keras_cv_rand_augment(
  *,
  magnitude: float = 0.5,
  magnitude_standard_deviation: float = 0.15,
  num_operations: int = 3,
  application_probability: float = 10 / 11,
) -> augmentation.Augmentation:
  """KerasCV's RandAugment, for images with 1 or 3 channels.

  Args:
    magnitude: Strength of every operation, in [0, 1].
    magnitude_standard_deviation: Standard deviation of the strength, in [0, 1],
      where the layer draws it from a normal distribution.
    num_operations: Operations drawn for each image.
    application_probability: Probability that a drawn operation is applied.

  Raises:
    ValueError: A strength or probability is not in [0, 1].
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
  """KerasCV's RandAugment, about as strong as FixMatch's.

  An image has two operations of strengths about 0.3, as fractions of a side for
  translations. (KerasCV's default are three operations of 0.5.)
  """
  return build_keras_cv_rand_augment(magnitude=0.3, num_operations=2)


# A program creates its task several times.
@functools.lru_cache(maxsize=1)
def create_operations(
  magnitude: float, standard_deviation: float
) -> tuple[rand_augment.Operation, ...]:
  """The ten operations of `keras_cv.layers.RandAugment`, in its order."""
  layers = _import_layers()
  # Layers create tensors and generators. Eagerly, these would initialize
  # TensorFlow, and with it the number of threads.
  with tf.Graph().as_default():
    return tuple(_create_operations(layers, magnitude, standard_deviation))


def _import_layers() -> types.ModuleType:
  """Imports KerasCV's layers, without its models, data sets and plots.

  These take three times as long to import. The packages around the layers,
  which import them, are not run, and forgotten afterwards, so that a later
  `import keras_cv` gets everything, with the same layers.
  """
  # KerasCV prints a remark to stdout, which is for results of programs.
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
    del num_images, seed
    return ()

  def solarization(num_images, seed):
    shape = [num_images, 1, 1, 1]
    return {
      'additions': clipped_normal(110.0 * magnitude, 110.0)(
        shape, random_draws.fold_in(seed, 0)
      ),
      'thresholds': clipped_normal(255.0 * (1.0 - magnitude), 255.0)(
        shape, random_draws.fold_in(seed, 1)
      ),
    }

  def signed_shear(num_images, seed):
    shape = [num_images, 1]
    amount = clipped_normal(magnitude, 1.0)(
      shape, random_draws.fold_in(seed, 0)
    )
    sign = tf.sign(uniform(-1.0, 1.0)(shape, random_draws.fold_in(seed, 1)))
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
    # The method needs no instance, and the class would not pass its seed on.
    return layers.RandomColorDegeneration.augment_images(
      None, images, transformations=parameters
    )

  uniform_magnitude = per_image(uniform(-magnitude, magnitude), 1)
  operation = rand_augment.Operation
  # XLA has no kernels for their histogram and transformation.
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
