# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""RandAugment with KerasCV's operations, strengths and probabilities.

KerasCV's `RandAugment` layer draws from hidden generators: its results are not
reproducible, and TFF computations cannot trace the layer. Here stateless ops
draw the parameters for KerasCV's deterministic operations.
"""

from collections.abc import Callable
import contextlib
import functools
import io
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.randomness import random_draws

_VALUE_RANGE = (0, 255)
# Layers never draw here; without a seed they use the global generator.
_UNUSED_SEED = 1

# The mean of the normal distribution of strengths, in [0, 1].
MAGNITUDE = 0.3
STANDARD_DEVIATION = 0.15
APPLICATION_PROBABILITY = 10 / 11
_NUM_OPERATIONS = 2

_Draw = Callable[[tf.Tensor, tf.Tensor], Any]


def build_gentle_rand_augment() -> augmentation.Augmentation:
  """KerasCV's RandAugment, for images with 1 or 3 channels, at low strength.

  Two operations of magnitude 0.3 are drawn for each image (KerasCV's default:
  three of 0.5). A drawn operation is applied with probability 10/11.
  Translations are at most 0.3 of a side.
  """
  return functools.partial(
    rand_augment.apply_random_operations,
    operations=create_operations(),
    num_operations=_NUM_OPERATIONS,
    application_probability=APPLICATION_PROBABILITY,
  )


# Cached, because a program creates its task several times.
@functools.lru_cache(maxsize=1)
def create_operations() -> tuple[rand_augment.Operation, ...]:
  """The ten operations of `keras_cv.layers.RandAugment`, in the same order."""
  # KerasCV prints a remark to stdout, where programs print their results.
  with contextlib.redirect_stdout(io.StringIO()):
    from keras_cv import layers
  # Layers create tensors and generators. In eager mode this would initialize
  # TensorFlow, and fix the number of threads.
  with tf.Graph().as_default():
    return tuple(_create_operations(layers))


def _create_operations(layers: Any) -> list[rand_augment.Operation]:
  magnitude, normal = MAGNITUDE, _clipped_normal
  create = {'seed': _UNUSED_SEED}
  additions = normal(110.0 * magnitude, 110.0, 1, 1, 1)
  thresholds = normal(255.0 * (1.0 - magnitude), 255.0, 1, 1, 1)
  shear_amounts = normal(magnitude, 1.0, 1)
  shear = layers.RandomShear(0.0, 0.0, **create)
  translate = layers.RandomTranslation(0.0, 0.0, **create)

  def draw_solarization(num_images, seed):
    return {
      'additions': additions(num_images, random_draws.fold_in(seed, 0)),
      'thresholds': thresholds(num_images, random_draws.fold_in(seed, 1)),
    }

  def draw_shear(num_images, seed):
    amount = shear_amounts(num_images, random_draws.fold_in(seed, 0))
    uniform = _uniform(-1.0, 1.0, 1)(num_images, random_draws.fold_in(seed, 1))
    return tf.sign(uniform) * amount

  operation = rand_augment.Operation
  # For operations with a histogram or transformation that has no XLA kernel.
  not_by_xla = functools.partial(operation, can_be_compiled=False)
  translations = _uniform(-magnitude, magnitude, 1)
  return [
    operation(
      'AutoContrast',
      lambda num_images, seed: (),
      _transform(layers.AutoContrast(_VALUE_RANGE, **create)),
    ),
    not_by_xla(
      'Equalization',
      lambda num_images, seed: (),
      _transform(layers.Equalization(_VALUE_RANGE, **create)),
    ),
    operation(
      'Solarization',
      draw_solarization,
      _transform(layers.Solarization(_VALUE_RANGE, **create)),
    ),
    operation(
      'RandomColorDegeneration',
      normal(magnitude, 1.0, 1, 1, 1),
      # The method needs no instance; the class does not pass on its seed.
      lambda images, parameters: layers.RandomColorDegeneration.augment_images(
        None, images, transformations=parameters
      ),
    ),
    operation(
      'RandomContrast',
      _uniform(1.0 - magnitude, 1.0 + magnitude, 1, 1, 1),
      _transform(layers.RandomContrast(_VALUE_RANGE, 0.5, **create)),
    ),
    operation(
      'RandomBrightness',
      _uniform(-255.0 * magnitude, 255.0 * magnitude, 1, 1, 1),
      _transform(layers.RandomBrightness(0.0, _VALUE_RANGE, **create)),
    ),
    not_by_xla(
      'RandomShearX',
      draw_shear,
      _transform(shear, lambda x: {'shear_x': x, 'shear_y': None}),
    ),
    not_by_xla(
      'RandomShearY',
      draw_shear,
      _transform(shear, lambda y: {'shear_x': None, 'shear_y': y}),
    ),
    not_by_xla(
      'RandomTranslationX',
      translations,
      _transform(translate, lambda x: _translation(x, tf.zeros_like(x))),
    ),
    not_by_xla(
      'RandomTranslationY',
      translations,
      _transform(translate, lambda y: _translation(tf.zeros_like(y), y)),
    ),
  ]


def _transform(
  layer: tf.keras.layers.Layer,
  to_transformations: Callable[[Any], Any] = lambda drawn: drawn,
) -> Callable[[tf.Tensor, Any], tf.Tensor]:
  return lambda images, drawn: layer.augment_images(
    images, transformations=to_transformations(drawn)
  )


def _translation(width: tf.Tensor, height: tf.Tensor) -> dict[str, tf.Tensor]:
  return {'width_translations': width, 'height_translations': height}


def _clipped_normal(mean: float, maximum: float, *shape: int) -> _Draw:
  def draw(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    drawn = tf.random.stateless_normal(
      [num_images, *shape], seed, mean=mean, stddev=STANDARD_DEVIATION * maximum
    )
    return tf.clip_by_value(drawn, 0.0, maximum)

  return draw


def _uniform(low: float, high: float, *shape: int) -> _Draw:
  return lambda num_images, seed: tf.random.stateless_uniform(
    [num_images, *shape], seed, minval=low, maxval=high
  )
