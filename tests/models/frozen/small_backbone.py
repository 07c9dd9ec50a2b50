# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A backbone with known features: scaled means of red, green and blue."""

import numpy as np
import tensorflow as tf

from tff_semifl.models.frozen import backbone as backbone_lib


def create_network(
  factor: float = 1.0, image_size: tuple[int | None, int | None] = (4, 4)
) -> tf.keras.Model:
  """Creates a network whose features are the means of three channels."""
  inputs = tf.keras.Input((*image_size, 3))
  layer = tf.keras.layers.Conv2D(3, 1, use_bias=False)
  model = tf.keras.Model(inputs, layer(inputs))
  layer.set_weights([np.float32(factor * np.eye(3)).reshape(1, 1, 3, 3)])
  return model


def prepare(image_size: tuple[int, int]) -> backbone_lib.Preparation:
  """The preparation of a network that takes pixels in 0..255."""
  return backbone_lib.Preparation(image_size, '0_to_255', tf.identity)


def create(
  factor: float = 1.0, image_size: tuple[int, int] = (4, 4)
) -> backbone_lib.Backbone:
  """Creates the backbone of `create_network`."""
  network = create_network(factor, image_size)
  return backbone_lib.Backbone('small', network, prepare(image_size))


def noise(number: int, *shape: int) -> np.ndarray:
  """Random images, uint8 [number, *shape]."""
  return np.random.default_rng(0).integers(0, 256, (number, *shape), np.uint8)
