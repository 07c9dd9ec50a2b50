# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keras models that functions of other packages create."""

from collections.abc import Callable
import dataclasses
import inspect

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import example_kinds
from tff_semifl.experiments import image_task
from tff_semifl.experiments import models
from tff_semifl.models import keras_conversion
from tff_semifl.models import model_checks
from tff_semifl.models import pixels
from tff_semifl.settings import references

# A function of a task and a seed that returns a compiled or uncompiled
# `tf.keras.Model` from float32 images to logits.
CreateModel = Callable[[image_task.ImageTask, int], tf.keras.Model]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionModel(models.Converted):
  """A model that a function creates.

  Attributes:
    reference: 'package.module:NAME'.
    function: The function.
  """

  has_static_batch_norm = None
  takes = (example_kinds.IMAGES, example_kinds.FEATURES)

  reference: str
  function: CreateModel
  input_range: str = settings.setting(
    '0_to_255',
    'What the model expects pixels in; 0_to_255 if it rescales them itself.',
    settings.one_of(*pixels.NAMES),
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    with settings.blame('model', self.reference):
      model = _call(self.function, task, seed)
      model = keras_conversion.convert(model, self.replace_batch_norm)
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


def load_outside_model(reference: str) -> FunctionModel:
  """Loads the function that creates a model."""
  return FunctionModel(reference=reference, function=references.load(reference))


def _call(
  function: CreateModel, task: image_task.ImageTask, seed: int
) -> tf.keras.Model:
  if not callable(function):
    raise ValueError('is no function')
  try:
    inspect.signature(function).bind(task, seed)
  except TypeError as error:
    raise ValueError(f'must take a task and a seed: {error}') from error
  model = function(task, seed)
  if not isinstance(model, tf.keras.Model):
    raise ValueError(f'returned {type(model).__name__}, no Keras model')
  return model
