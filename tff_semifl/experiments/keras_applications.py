# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Backbones of `keras.applications`, pretrained or not, with a new last layer.

A frozen backbone is not trained, sent or averaged: only the last layer is.
"""

import dataclasses
import os
from typing import Any, ClassVar

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import models
from tff_semifl.models import keras_conversion
from tff_semifl.models import pixels
from tff_semifl.models import residual

_IMAGENET = 'imagenet'
# The least image size of all these backbones without their last layer.
_MIN_SIZE = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class Application(models.Converted):
  """Base of the backbones.

  Attributes:
    function_name: Name of the function of `tf.keras.applications`.
    input_range: The range of pixel values that the backbone expects.
  """

  function_name: ClassVar[str]
  input_range: ClassVar[str] = '-1_to_1'

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
    """Whether static batch normalization is chosen, and not frozen."""
    return self.normalization == 'static_batch' and not self.freeze_backbone

  @property
  def arguments(self) -> dict[str, Any]:
    """Further arguments of the function that builds the backbone."""
    return {}

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task.

    Gray images become color images of three equal channels.
    """
    if self.freeze_backbone and self.weights is None:
      raise settings.SettingError(
        'freeze_backbone',
        True,
        'what is frozen must have been trained before; give weights, too',
      )
    return self._create(task, seed, self.weights)

  def create_to_assign(self, task: image_task.ImageTask) -> tf.keras.Model:
    """Creates the model without the pretrained weights."""
    return self._create(task, 0, None)

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
    backbone = self._load((height, width, 3), weights)
    backbone.trainable = not self.freeze_backbone
    inputs = x = tf.keras.Input(task.image_shape)
    if num_channels == 1:
      x = tf.keras.layers.Concatenate()([x, x, x])
    x = pixels.rescale(x, self.input_range)
    # In inference mode nothing is dropped.
    x = backbone(x, training=False) if self.freeze_backbone else backbone(x)
    logits = tf.keras.layers.Dense(task.num_classes)(x)
    return keras_conversion.convert(
      tf.keras.Model(inputs, logits, name=backbone.name),
      self.replace_batch_norm,
    )

  def _load(
    self, image_shape: tuple[int, int, int], weights: str | None
  ) -> tf.keras.Model:
    """The backbone with its weights."""
    with settings.blame('weights', weights, ValueError, OSError):
      if weights not in (None, _IMAGENET) and not os.path.isfile(weights):
        raise ValueError('there is no such file')
      try:
        return getattr(tf.keras.applications, self.function_name)(
          include_top=False,
          pooling='avg',
          weights=weights,
          input_shape=image_shape,
          **self.arguments,
        )
      except (ValueError, OSError) as error:
        if weights in (None, _IMAGENET):
          raise
        raise ValueError(
          f'{error} The file must be what save_weights of'
          f' tf.keras.applications.{self.function_name}(include_top=False)'
          ' writes, with the same settings'
        ) from error
      except Exception as error:
        # Keras raises nothing more specific where a download fails.
        if type(error) is not Exception:
          raise
        raise ValueError(
          f'cannot be downloaded: {error}. Download it elsewhere, and copy the'
          ' file to ~/.keras/models, or name it as weights'
        ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class MobileNet(Application):
  """MobileNet, 3.2 million weights at full width (Howard et al. 2017)."""

  function_name = 'MobileNet'
  width_multiplier: float = settings.setting(
    1.0,
    'Factor on the channels of all layers. There are ImageNet weights for some:'
    ' 0.25, 0.5, 0.75 and 1, and mobilenet_v2 has 0.35 in place of 0.25.',
    settings.ABOVE_0,
  )

  @property
  def arguments(self) -> dict[str, Any]:
    """Further arguments of the function that builds the backbone."""
    return {'alpha': self.width_multiplier}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MobileNetV2(MobileNet):
  """MobileNetV2, 2.3 million weights at full width (Sandler et al. 2018)."""

  function_name = 'MobileNetV2'


@dataclasses.dataclass(frozen=True, kw_only=True)
class EfficientNetV2(Application):
  """EfficientNetV2-B0, 5.9 million weights (Tan and Le 2021)."""

  function_name = 'EfficientNetV2B0'
  # The backbone begins with layers that rescale pixels.
  input_range = '0_to_255'


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResNet50V2(Application):
  """ResNet-50 with pre-activation, 23.6 million weights (He et al. 2016)."""

  function_name = 'ResNet50V2'


MODELS = {
  'mobilenet': MobileNet(),
  'mobilenet_v2': MobileNetV2(),
  'efficientnet_v2': EfficientNetV2(),
  'resnet50_v2': ResNet50V2(),
}
