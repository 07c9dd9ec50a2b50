# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small task and model, defined outside of the library."""

from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.experiment import image_task
from tff_semifl.experiment import own_data

PIXELS = np.arange(40 * 16, dtype=np.uint8).reshape(40, 4, 4)
LABELS = np.arange(40) % 2


def create_task(
  pixels: np.ndarray = PIXELS, **kwargs: Any
) -> image_task.ImageTask:
  """Creates the task; the server has four images."""
  return own_data.own_data(
    (pixels, LABELS), (pixels, LABELS), num_labeled=4, **kwargs
  )


def create_model(
  task: image_task.ImageTask, seed: int, units: int | None = None
) -> tf.keras.Model:
  """Creates a linear model."""
  tf.keras.utils.set_random_seed(seed)
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(units or task.num_classes),
    ]
  )
