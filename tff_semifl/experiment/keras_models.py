# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keras models from elsewhere: `keras.applications` and users' functions."""

from collections.abc import Callable
import dataclasses
import inspect
import os
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import example_kinds
from tff_semifl.data import pixels
from tff_semifl.experiment import image_task
from tff_semifl.experiment import models
from tff_semifl.models import model_checks
from tff_semifl.models import residual
from tff_semifl.settings import references

_IMAGENET = 'imagenet'
# The smallest image size that all backbones below take.
_MIN_SIZE = 32

# (task, seed) -> Keras model from float32 images to logits.
CreateModel = Callable[[image_task.ImageTask, int], tf.keras.Model]

# Names of functions of `tf.keras.applications`, and the range of pixel values
# that the backbone expects. EfficientNetV2 rescales pixels itself.
_BACKBONES = {
  'mobilenet': ('MobileNet', '-1_to_1'),
  'mobilenet_v2': ('MobileNetV2', '-1_to_1'),
  'efficientnet_v2': ('EfficientNetV2B0', '0_to_255'),
  'resnet50_v2': ('ResNet50V2', '-1_to_1'),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Application(models.Normalized):
  """A backbone of `keras.applications` with a new last layer.

  A frozen backbone is not trained, sent or averaged: only the last layer is.
  """

  reference: str
  weights: str | None = settings.setting(
    None,
    'Pretrained weights of the backbone: imagenet, which Keras downloads to'
    ' ~/.keras/models if they are not there, or an HDF5 file with the weights'
    ' of the backbone without its last layer. By default they are random.',
  )
  freeze_backbone: bool = settings.setting(
    False,
    'Whether the backbone keeps its pretrained weights, and only the'
    ' last layer is trained and sent. To be preferred with few labels.',
  )

  @property
  def has_static_batch_norm(self) -> bool:
    return self.normalization == 'static_batch' and not self.freeze_backbone

  @property
  def arguments(self) -> dict[str, Any]:
    """Further arguments of the function that builds the backbone."""
    return {}

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model; gray images become three equal channels."""
    if self.freeze_backbone and self.weights is None:
      raise settings.SettingError(
        'freeze_backbone',
        True,
        'what is frozen must have been trained before; give weights, too',
      )
    return self._create(task, seed, self.weights)

  def create_to_assign(self, task: image_task.ImageTask) -> tf.keras.Model:
    return self._create(task, 0, None)  # Without the pretrained weights.

  def _create(
    self, task: image_task.ImageTask, seed: int, weights: str | None
  ) -> tf.keras.Model:
    height, width, num_channels = task.image_shape
    if min(height, width) < _MIN_SIZE:
      raise ValueError(
        f'takes images of at least {_MIN_SIZE}x{_MIN_SIZE} pixels, found'
        f' {height}x{width}; choose another model'
      )
    # The initializers of these backbones take no seed.
    tf.keras.utils.set_random_seed(next(residual.layer_seeds(seed)))
    name, input_range = _BACKBONES[self.reference]
    backbone = self._load(name, (height, width, 3), weights)
    backbone.trainable = not self.freeze_backbone
    inputs = x = tf.keras.Input(task.image_shape)
    if num_channels == 1:
      x = tf.keras.layers.Concatenate()([x, x, x])
    x = pixels.rescale(x, input_range)
    # In inference mode nothing is dropped.
    x = backbone(x, training=False) if self.freeze_backbone else backbone(x)
    logits = tf.keras.layers.Dense(task.num_classes)(x)
    return self.convert(tf.keras.Model(inputs, logits, name=backbone.name))

  def _load(
    self, name: str, image_shape: tuple[int, int, int], weights: str | None
  ) -> tf.keras.Model:
    is_file = weights not in (None, _IMAGENET)
    if is_file and not os.path.isfile(weights):
      raise settings.SettingError('weights', weights, 'there is no such file')
    try:
      return getattr(tf.keras.applications, name)(
        include_top=False,
        pooling='avg',
        weights=weights,
        input_shape=image_shape,
        **self.arguments,
      )
    # Keras raises nothing more specific where a download fails.
    except Exception as error:
      remedy = 'copy it to ~/.keras/models, or name the file'
      if is_file:
        remedy = (
          'must be what save_weights of'
          f' tf.keras.applications.{name}(include_top=False) writes, with the'
          ' same settings'
        )
      raise settings.SettingError(
        'weights', weights, f'{error} ({remedy})'
      ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class MobileNet(Application):
  """MobileNet (Howard et al. 2017), or MobileNetV2 (Sandler et al. 2018)."""

  reference: str = 'mobilenet'
  width_multiplier: float = settings.setting(
    1.0,
    'Factor on the channels of all layers. There are ImageNet weights for some:'
    ' 0.25, 0.5, 0.75 and 1, and mobilenet_v2 has 0.35 in place of 0.25.',
    settings.ABOVE_0,
  )

  @property
  def arguments(self) -> dict[str, Any]:
    return {'alpha': self.width_multiplier}


APPLICATIONS = {
  'mobilenet': MobileNet(),
  'mobilenet_v2': MobileNet(reference='mobilenet_v2'),
  'efficientnet_v2': Application(reference='efficientnet_v2'),
  'resnet50_v2': Application(reference='resnet50_v2'),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionModel(models.Normalized):
  """A model of a user's function, `reference` is 'package.module:NAME'."""

  has_static_batch_norm = None
  takes = (example_kinds.IMAGES, example_kinds.FEATURES)

  reference: str
  function: CreateModel
  input_range: str = settings.setting(
    '0_to_255',
    'What the model expects pixels in; 0_to_255 if it rescales them itself.',
    settings.one_of(*pixels.RANGES),
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    with settings.blame('model', self.reference):
      model = self.convert(_call(self.function, task, seed))
      model_checks.check(model)
      shape = tuple(model.input_shape[1:])
      if shape != task.image_shape or model.output_shape[1:] != (
        task.num_classes,
      ):
        raise ValueError(
          f'returned a model from images {list(shape)} to outputs'
          f' {list(model.output_shape[1:])}; those of the task are'
          f' {list(task.image_shape)} and [{task.num_classes}]'
        )
      if self.input_range == '0_to_255':
        return model
      inputs = tf.keras.Input(shape)
      outputs = model(pixels.rescale(inputs, self.input_range))
      return tf.keras.Model(inputs, outputs, name=model.name)


def load_function(reference: str) -> FunctionModel:
  """Loads 'package.module:NAME', a function that creates a model."""
  return FunctionModel(reference=reference, function=references.load(reference))


def _call(
  function: CreateModel, task: image_task.ImageTask, seed: int
) -> tf.keras.Model:
  try:
    inspect.signature(function).bind(task, seed)
  except TypeError as error:
    raise ValueError(
      f'must be a function of a task and a seed: {error}'
    ) from error
  model = function(task, seed)
  if not isinstance(model, tf.keras.Model):
    raise ValueError(f'returned {type(model).__name__}, no Keras model')
  return model
