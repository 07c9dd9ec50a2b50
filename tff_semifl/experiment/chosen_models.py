# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The models that can be chosen: networks, a linear layer, users' functions."""

from collections.abc import Callable
import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import models
from tff_semifl.models import features
from tff_semifl.models import keras_conversion
from tff_semifl.models import zhang2020_networks
from tff_semifl.settings import references

# (task, seed) -> Keras model from float32 images to logits.
CreateModel = Callable[[image_task.ImageTask, int], tf.keras.Model]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionModel(models.Normalized):
  """A model from a user's function; `reference` is 'package.module:NAME'."""

  has_static_batch_norm = None
  takes = (sources.IMAGES, sources.FEATURES)

  reference: str
  function: CreateModel

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    with settings.blame('model', self.reference):
      # Pure layers, with the chosen normalization.
      model = keras_conversion.convert(
        _call(self.function, task, seed),
        keras_conversion.to_static_batch_norm
        if self.normalization == 'static_batch'
        else zhang2020_networks.to_group_norm,
      )
      keras_conversion.check(model)
      shape = tuple(model.input_shape[1:])
      if shape != task.image_shape or model.output_shape[1:] != (
        task.num_classes,
      ):
        raise ValueError(
          f'returned a model from images {list(shape)} to outputs'
          f' {list(model.output_shape[1:])}; those of the task are'
          f' {list(task.image_shape)} and [{task.num_classes}]'
        )
      return model


def load_function(reference: str) -> FunctionModel:
  """Loads 'package.module:NAME', a function that creates a model."""
  return FunctionModel(reference=reference, function=references.load(reference))


def _call(
  function: CreateModel, task: image_task.ImageTask, seed: int
) -> tf.keras.Model:
  if isinstance(function, tf.keras.Model):
    raise ValueError('is a Keras model; give a function that creates it')
  if not isinstance(function, type):
    references.check_callable(function, 'task', 'seed')
  model = function(task, seed)
  if not isinstance(model, tf.keras.Model):
    raise ValueError(f'returned {type(model).__name__}, no Keras model')
  return model


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linear(models.Model):
  """One dense layer on standardized features or pixels."""

  takes = (sources.FEATURES, sources.IMAGES)

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task; initial weights are zero."""
    del seed  # The initial weights are zero.
    unit = sources.kind_of(task.image_shape).unit
    return features.create_linear(
      task.image_shape,
      task.num_classes,
      mean=[unit * mean for mean in task.pixel_mean],
      standard_deviation=[unit * s for s in task.pixel_standard_deviation],
    )


MODELS = {
  'wide_resnet': models.WideResNet(),
  'decomposed_wide_resnet': models.WideResNet(
    reference='decomposed_wide_resnet'
  ),
  'fixmatch_wide_resnet': models.WideResNet(reference='fixmatch_wide_resnet'),
  'post_activation_resnet': models.NormalizedNetwork(
    reference='post_activation_resnet'
  ),
  'emnist_cnn': models.Network(reference='emnist_cnn'),
  'reddi_emnist_cnn': models.Network(reference='reddi_emnist_cnn'),
  'fedmatch_resnet': models.Network(reference='fedmatch_resnet'),
  'linear': Linear(),
}
