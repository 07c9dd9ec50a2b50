# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The model that the flags ask for."""

import tensorflow as tf

from launch import model_flags
from launch import program
from launch import settings as settings_lib
from tasks import image_task
from tff_semifl.models import residual

_NORMALIZATIONS = {
  'group': residual.create_group_norm,
  'static_batch': residual.create_static_batch_norm,
}


def create_model(
  task: image_task.ImageTask, settings: settings_lib.Settings
) -> tf.keras.Model:
  """Creates the model for a task.

  Raises:
    program.FlagError: If there is none of that depth, or if its channels
      cannot be normalised in groups.
  """
  create_normalization = _NORMALIZATIONS[model_flags.NORMALIZATION.value]
  with program.blame(
    model_flags.MODEL_DEPTH, ValueError, value=settings.model_depth
  ):
    if model_flags.MODEL.value == 'resnet':
      return task.create_resnet(
        settings.model_depth, settings.seed, create_normalization
      )
    return task.create_wide_resnet(
      settings.model_depth,
      settings.model_width,
      settings.seed,
      create_normalization,
    )
