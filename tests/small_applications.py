# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Backbones of `keras.applications` with few of their blocks.

To trace and to export all of them takes as long as all else in a test.
"""

import contextlib
import functools
import inspect
from unittest import mock

import tensorflow as tf


def with_small_efficientnet() -> contextlib.AbstractContextManager:
  """Within, EfficientNetV2-B0 has 3 blocks of 21, and a quarter of its width.

  One of them is fused, and one drops itself.
  """
  name = 'EfficientNetV2B0'
  module = inspect.getmodule(getattr(tf.keras.applications, name))
  build = functools.partial(
    module.EfficientNetV2,
    width_coefficient=0.25,
    depth_coefficient=0.2,
    default_size=32,
    blocks_args=module.DEFAULT_BLOCKS_ARGS['efficientnetv2-b0'][1::4],
    model_name='efficientnetv2-b0',
  )
  return mock.patch.object(tf.keras.applications, name, build)


def with_small_mobilenet() -> contextlib.AbstractContextManager:
  """Within, MobileNet has its first, its second and its last block of 13."""
  module = inspect.getmodule(tf.keras.applications.MobileNet)
  name = '_depthwise_conv_block'
  add_block = getattr(module, name)

  def add_some(inputs, *args, block_id, **kwargs):
    if block_id not in (1, 2, 13):
      return inputs
    return add_block(inputs, *args, block_id=block_id, **kwargs)

  return mock.patch.object(module, name, add_some)
