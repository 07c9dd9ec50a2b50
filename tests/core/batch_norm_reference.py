# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A model of two normalization layers, and their inputs in NumPy."""

import functools

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

WEIGHTS_TYPE = (
  '<trainable=<float32[1],float32[1],float32[1,2],float32[2],float32[2],'
  'float32[2],float32[8,3],float32[3]>,'
  'non_trainable=<float32[1],float32[1],float32[2],float32[2]>>'
)
_BATCH_SIZE = 250
_KERNEL = np.array([[1.0, -2.0]])


@functools.cache
def create_classifier(
  offset: float = 0.0, scale: float = 1.0
) -> functional.ImageClassifier:
  """Creates the model, for images of `linear_reference.IMAGE_SHAPE`."""
  return functional.from_keras(
    tf.keras.Sequential(
      [
        tf.keras.Input(linear_reference.IMAGE_SHAPE),
        tf.keras.layers.Rescaling(scale, offset),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.ReLU(),
        tf.keras.layers.Dense(
          2, kernel_initializer=tf.keras.initializers.Constant(_KERNEL)
        ),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3),
      ]
    )
  )


def see_batches(
  images: np.ndarray, offset: float = 0.0, *, batch_size: int = _BATCH_SIZE
) -> list[tuple[np.ndarray, np.ndarray]]:
  """Returns the inputs of both layers by batch: float64 [values, channels]."""
  seen = []
  for start in range(0, len(images), batch_size):
    batch = images[start : start + batch_size]
    pixels = batch.reshape(-1, 1).astype(np.float64) + offset
    # Normalized by the biased variance of the batch, with epsilon 1e-5.
    normalized = (pixels - pixels.mean()) / np.sqrt(pixels.var() + 1e-5)
    seen.append((pixels, np.maximum(normalized, 0) @ _KERNEL))
  return seen


def see_all(
  images: np.ndarray, offset: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the inputs of both layers, joined: float64 [values, channels]."""
  first, second = zip(*see_batches(images, offset), strict=True)
  return np.concatenate(first), np.concatenate(second)
