# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A frozen network that turns images into feature vectors."""

from collections.abc import Callable
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import io
import json
import types
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.data import pixels

# Larger batches are no faster on CPUs; batches of this size keep a GPU busy.
BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class Preparation:
  """Resizes images to the network's input, and scales their pixels.

  `scale` scales float32 [batch, height, width, 3] in 0..255. `scaling` names
  this function, such as '(x - 127) / 128', in the key of cached features.
  """

  image_size: tuple[int, int]
  scaling: str
  scale: Callable[[tf.Tensor], tf.Tensor]

  def __call__(self, images: tf.Tensor) -> tf.Tensor:
    """Resizes and scales images [batch, height, width, 1 or 3] in 0..255."""
    if images.shape.rank != 4 or images.shape[-1] not in (1, 3):
      raise ValueError(
        f'found images of shape {images.shape}; give [images, height, width, 1'
        ' or 3]'
      )
    fitted = fit(images, self.image_size)
    if fitted.shape[-1] == 1:
      fitted = tf.repeat(fitted, 3, axis=-1)
    return self.scale(fitted)

  @property
  def description(self) -> str:
    """Resizing and scaling in one line of text, for the backbone's digest."""
    height, width = self.image_size
    return f'cover {height}x{width}, bilinear, antialiased; {self.scaling}'


def fit(images: tf.Tensor, image_size: tuple[int, int]) -> tf.Tensor:
  """Resizes like `pixels.scale_and_crop`, with fewer operations if possible."""
  height, width = images.shape[1:3]
  if height is None or width is None:
    raise ValueError(f'found images of shape {images.shape}; give one size')
  if (height, width) == image_size:
    return tf.cast(images, tf.float32)
  # If nothing is cropped or shrunk, plain bilinear resizing, which TFLite
  # supports, gives the same result.
  if height * image_size[1] == width * image_size[0] and height < image_size[0]:
    return tf.image.resize(tf.cast(images, tf.float32), image_size)
  return pixels.scale_and_crop(images, *image_size)


class BackboneError(ValueError):
  """A backbone is unavailable or unusable; the message is one line."""


class Backbone:
  """A pretrained network in inference mode, with its preprocessing.

  `network` maps prepared pixels, float32 [batch, height, width, 3], to
  features, float32 [batch, feature_dimension].
  """

  def __init__(
    self, name: str, network: tf.keras.Model, preparation: Preparation
  ):
    """Combines a network with its preprocessing.

    `network` maps float32 [batch, *preparation.image_size, 3] to feature
    vectors [batch, d], or to feature maps [batch, h, w, d], which are averaged
    over pixels.
    """
    self.name = name
    self.preparation = preparation
    self.network = _pool(name, network, preparation.image_size)
    self.network.trainable = False
    self._compute = functools.cache(self._build_compute)

  @property
  def image_size(self) -> tuple[int, int]:
    """Height and width of the network's input."""
    return self.preparation.image_size

  @property
  def feature_dimension(self) -> int:
    """The length of a feature vector."""
    return self.network.output_shape[-1]

  @functools.cached_property
  def digest(self) -> str:
    """SHA-256, in hexadecimal digits, of layers, weights and preparation.

    Layer names are excluded: Keras numbers them differently in each process.
    """
    found = hashlib.sha256()
    facts = [self.preparation.description, *_describe(self.network)]
    # The name of the type, because `repr` may contain a memory address.
    text = json.dumps(facts, sort_keys=True, default=lambda v: type(v).__name__)
    found.update(text.encode())
    for array in self.network.get_weights():
      found.update(f'{array.dtype}{array.shape}'.encode())
      found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()

  def __call__(self, images: tf.Tensor) -> tf.Tensor:
    """Computes features, float32 [batch, feature_dimension], of one batch.

    `images` are as in `Preparation.__call__`. The call works in graphs, too.
    """
    return self.network(self.preparation(images), training=False)

  def features(self, images: np.ndarray) -> np.ndarray:
    """Computes features, float32 [images, feature_dimension], batch by batch.

    `images` are uint8 [images, height, width, 1 or 3], of any size.
    """
    compute = self._compute(images.shape[1:])
    found = np.empty([len(images), self.feature_dimension], np.float32)
    for start in range(0, len(images), BATCH_SIZE):
      chosen = slice(start, start + BATCH_SIZE)
      found[chosen] = compute(tf.constant(images[chosen])).numpy()
    return found

  def _build_compute(self, image_shape: tuple[int, int, int]) -> Any:
    return tf.function(
      self.__call__,
      input_signature=[tf.TensorSpec([None, *image_shape], tf.uint8)],
    )


def import_keras_cv() -> types.ModuleType:
  """Imports KerasCV, and hides the line that KerasCV prints on import."""
  with contextlib.redirect_stdout(io.StringIO()):
    return importlib.import_module('keras_cv')


def _pool(
  name: str, network: tf.keras.Model, image_size: tuple[int, int]
) -> tf.keras.Model:
  """Checks a network's shapes, and averages feature maps over pixels."""
  # Subclassed models may lack these attributes.
  input_shape = getattr(network, 'input_shape', None)
  output_shape = getattr(network, 'output_shape', None)
  problem = None
  if not isinstance(input_shape, tuple) or not isinstance(output_shape, tuple):
    problem = 'it is no functional Keras model with one input and one output'
  elif input_shape != (None, *image_size, 3):
    problem = (
      f'its input has the shape {list(input_shape[1:])}, not'
      f' {[*image_size, 3]}; choose that image_size'
    )
  elif len(output_shape) not in (2, 4):
    problem = (
      f'its output has the shape {list(output_shape[1:])}; give a model that'
      ' returns vectors or maps [height, width, channels]'
    )
  if problem is not None:
    raise BackboneError(f'backbone {name}: {problem}')
  outputs = network.output
  if outputs.shape.rank == 4:
    outputs = tf.keras.layers.GlobalAveragePooling2D()(outputs)
  return tf.keras.Model(network.inputs, outputs)


def _describe(model: tf.keras.Model) -> list[Any]:
  """Classes and settings of all layers, without names."""
  found = []
  for layer in model.layers:
    if isinstance(layer, tf.keras.Model):
      found.append(_describe(layer))
    else:
      settings = {
        key: value
        for key, value in layer.get_config().items()
        if key not in ('name', 'trainable')
      }
      found.append([type(layer).__name__, settings])
  return found
