# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small network to export, and its outputs."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from tff_semifl.models import keras_conversion
from tff_semifl.models import wide_resnet

CLASS_NAMES = ('cat', 'dog', 'great owl')


def create(
  image_shape: tuple[int, int, int] = (8, 8, 1),
  replace_batch_norm: Callable[
    [tf.keras.layers.Layer], tf.keras.layers.Layer
  ] = keras_conversion.to_static_batch_norm,
) -> tf.keras.Model:
  """Creates a network like trained networks, with three classes."""
  num_channels = image_shape[-1]
  model = wide_resnet.create_wide_resnet(
    image_shape,
    len(CLASS_NAMES),
    depth=4,
    width=1,
    num_groups=1,
    pixel_mean=(0.5,) * num_channels,
    pixel_standard_deviation=(0.25,) * num_channels,
    seed=1,
  )
  model = keras_conversion.convert(
    model, replace_batch_norm, replaces_static=True
  )
  generator = np.random.default_rng(2)
  for weight in model.non_trainable_weights:
    weight.assign(generator.uniform(0.5, 1.5, size=weight.shape))
  # Scales logits to mean 0 and standard deviation 2 over such images.
  kernel, bias = model.layers[-1].weights
  kernel.assign(generator.normal(size=kernel.shape))
  bias.assign(tf.zeros_like(bias))
  images = random_images(200, image_shape).astype(np.float32)
  logits = model(images, training=False).numpy()
  factors = 2 / logits.std(axis=0)
  kernel.assign(kernel * factors)
  bias.assign(-factors * logits.mean(axis=0))
  return model


def random_images(
  num_images: int, image_shape: tuple[int, int, int]
) -> np.ndarray:
  """uint8 images that differ in brightness, noise and edges."""
  generator = np.random.default_rng(num_images)
  height, width, num_channels = image_shape

  def draw(spread: float, *shape: int) -> np.ndarray:
    return generator.normal(0, spread, size=(num_images, *shape))

  brightness = draw(50, 1, 1, 1)
  noise = draw(1, *image_shape) * draw(40, 1, 1, 1)
  edges = draw(40, 1, width, num_channels) + draw(40, height, 1, num_channels)
  return np.clip(128 + brightness + noise + edges, 0, 255).astype(np.uint8)


def probabilities(model: tf.keras.Model, images: np.ndarray) -> np.ndarray:
  """The softmax of the logits, by NumPy."""
  logits = model(images.astype(np.float32), training=False).numpy()
  powers = np.exp(logits - logits.max(axis=1, keepdims=True))
  return powers / powers.sum(axis=1, keepdims=True)
