# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small task and model that are built quickly.

Building the computations of a WideResNet and of RandAugment takes far longer
than training a WideResNet in a test. Tests that work with any task and model
use these, by `FLAGS` or `SETTINGS`.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
from unittest import mock

import tensorflow as tf

from tasks import digits
from tff_semifl.augment import augmentation
from tff_semifl.augment import keras_cv_policy
from tff_semifl.experiment import image_task
from tff_semifl.experiment import models
from tff_semifl.models import static_batch_norm

SETTINGS = {
  'task': 'tests.small_digits:SmallDigits',
  'model': 'tests.small_digits:create_small_model',
}
FLAGS = tuple(f'--{name}={value}' for name, value in SETTINGS.items())

_shift = functools.partial(augmentation.flip_and_crop, flip=False, padding=2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SmallDigits(digits.Digits):
  """The digits, with shifts as augmentations."""

  def create(self) -> image_task.ImageTask:
    """Creates the task."""
    return dataclasses.replace(super().create(), strong_augmentation=_shift)


@contextlib.contextmanager
def without_rand_augment() -> Iterator[None]:
  """A context in which RandAugment is a shift, for digits and image folders."""
  name = 'build_gentle_rand_augment'
  with (
    mock.patch.object(keras_cv_policy, name, lambda: _shift),
    mock.patch.dict(image_task.AUGMENTATIONS, keras_cv_gentle=lambda: _shift),
  ):
    yield


def without_wide_resnet() -> contextlib.AbstractContextManager:
  """A context in which the model `wide_resnet` is `create_small_model`."""
  return mock.patch.object(
    models.WideResNet,
    'create',
    lambda _, task, seed: create_small_model(task, seed),
  )


def create_small_model(task: image_task.ImageTask, seed: int) -> tf.keras.Model:
  """Creates a convolution, static batch normalization and a linear layer."""
  initializer = tf.keras.initializers.GlorotUniform(seed)
  pixels = tf.keras.Input(task.image_shape)
  features = tf.keras.layers.Rescaling(1 / 255)(pixels)
  features = tf.keras.layers.Conv2D(
    4, 3, strides=2, kernel_initializer=initializer
  )(features)
  features = static_batch_norm.StaticBatchNormalization()(features)
  features = tf.keras.layers.Flatten()(tf.nn.relu(features))
  logits = tf.keras.layers.Dense(
    task.num_classes, kernel_initializer=initializer
  )(features)
  return tf.keras.Model(pixels, logits)
