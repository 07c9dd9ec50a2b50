# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The model that the flags ask for."""

from typing import Protocol

import tensorflow as tf

from launch import model_flags
from launch import program
from tasks import image_task
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import emnist_cnn
from tff_semifl.models import fedmatch_resnet
from tff_semifl.models import post_activation_resnet
from tff_semifl.models import residual

_NORMALIZATIONS = {
  'group': residual.create_group_norm,
  'static_batch': residual.create_static_batch_norm,
}


# By model, what convolves.
_WIDE = {
  'decomposed_wide_resnet': (
    decomposed_convolution.create_decomposed_convolution
  ),
  'wide_resnet': residual.create_plain_convolution,
}
_SMALL = {
  'emnist_cnn': emnist_cnn.create_emnist_cnn,
  'reddi_emnist_cnn': emnist_cnn.create_reddi_emnist_cnn,
}
_WITHOUT_NORMALIZATION = (*_SMALL, 'fedmatch_resnet')


class ModelSettings(Protocol):
  """The flags of the model that have defaults of their own.

  Attributes:
    seed: The run's seed.
    model_depth: Depth of the model, or None if there is but one.
    model_width: Width of the WideResNet, or None for another.
  """

  seed: int
  model_depth: int | None
  model_width: int | None


def is_wide() -> bool:
  """Returns whether the model that the flags ask for has a width."""
  return model_flags.MODEL.value in _WIDE


def has_depth() -> bool:
  """Returns whether the model that the flags ask for has a depth."""
  return is_wide() or model_flags.MODEL.value == 'resnet'


def has_dropout() -> bool:
  """Returns whether the model that the flags ask for drops anything."""
  return model_flags.MODEL.value in _SMALL


def has_normalization() -> bool:
  """Returns whether the model that the flags ask for normalises anything."""
  return model_flags.MODEL.value not in _WITHOUT_NORMALIZATION


def create_model(
  task: image_task.ImageTask, settings: ModelSettings
) -> tf.keras.Model:
  """Creates the model for a task.

  Raises:
    program.FlagError: If there is none of that depth, or if its channels
      cannot be normalised in groups, or its images are too small.
  """
  if has_depth():
    with program.blame(
      model_flags.MODEL_DEPTH, ValueError, value=settings.model_depth
    ):
      return _create_model(task, settings)
  with program.blame(model_flags.MODEL, ValueError):
    return _create_model(task, settings)


def _create_model(
  task: image_task.ImageTask, settings: ModelSettings
) -> tf.keras.Model:
  name = model_flags.MODEL.value
  create_normalization = _NORMALIZATIONS[model_flags.NORMALIZATION.value]
  if name in _WIDE:
    return task.create_wide_resnet(
      settings.model_depth,
      settings.model_width,
      settings.seed,
      create_normalization,
      _WIDE[name],
    )
  if name == 'resnet':
    return task.create_resnet(
      settings.model_depth, settings.seed, create_normalization
    )
  shape = task.image_shape, task.num_classes
  if name == 'fedmatch_resnet':
    return fedmatch_resnet.create_fedmatch_resnet(*shape, seed=settings.seed)
  pixels = {
    'pixel_mean': task.pixel_mean,
    'pixel_standard_deviation': task.pixel_standard_deviation,
  }
  if name in _SMALL:
    return _SMALL[name](*shape, **pixels, seed=settings.seed)
  return post_activation_resnet.create_post_activation_resnet(
    *shape,
    **pixels,
    create_normalization=create_normalization,
    seed=settings.seed,
  )
