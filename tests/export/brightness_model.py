# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A classifier by brightness, with known outputs."""

import math
import pathlib
from typing import Any

import tensorflow as tf

from tff_semifl.export import saved_model
from tff_semifl.export import tflite

CLASS_NAMES = ('cat', 'dog')
THRESHOLD = 145
_STEEPNESS = 0.05


def probability_of_dog(level: float) -> float:
  """The probability of the class 'dog', bright images, by gray level."""
  return 1 / (1 + math.exp(-_STEEPNESS * (level - THRESHOLD)))


def create(num_channels: int = 3) -> tf.keras.Model:
  """Creates the classifier for images of 16x16 pixels."""
  inputs = tf.keras.Input([16, 16, num_channels])
  outputs = tf.keras.layers.Dense(2)
  model = tf.keras.Model(
    inputs, outputs(tf.keras.layers.GlobalAveragePooling2D()(inputs))
  )
  outputs.kernel.assign([[0, _STEEPNESS / num_channels]] * num_channels)
  outputs.bias.assign([0, -_STEEPNESS * THRESHOLD])
  return model


def export(folder: pathlib.Path, **options: Any) -> dict[str, str]:
  """Exports the classifier."""
  model = create()
  saved_model.export_saved_model(
    model, CLASS_NAMES, folder / 'export', **options
  )
  file = folder / 'model.tflite'
  file.write_bytes(
    tflite.convert(model, CLASS_NAMES, tflite.Precision.FLOAT32, **options)
  )
  return {'saved_model': str(folder / 'export'), 'tflite': str(file)}
