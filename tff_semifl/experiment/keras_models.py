# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keras models that users' functions create."""

from collections.abc import Callable
import dataclasses
import inspect

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import example_kinds
from tff_semifl.experiment import image_task
from tff_semifl.experiment import models
from tff_semifl.models import model_checks
from tff_semifl.settings import references

# (task, seed) -> Keras model from float32 images to logits.
CreateModel = Callable[[image_task.ImageTask, int], tf.keras.Model]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionModel(models.Normalized):
  """A model of a user's function, `reference` is 'package.module:NAME'."""

  has_static_batch_norm = None
  takes = (example_kinds.IMAGES, example_kinds.FEATURES)

  reference: str
  function: CreateModel

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
      return model


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
