# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Backbones of `keras.applications` with few of their blocks.

To trace and to export all of them takes as long as all else in a test.
"""

from collections.abc import Iterator
import contextlib
import functools
import inspect
from unittest import mock

import tensorflow as tf


@contextlib.contextmanager
def with_small_backbones() -> Iterator[None]:
  """A context in which all backbones are small."""
  with (
    with_small_efficientnet(),
    with_small_mobilenet(),
    with_small_mobilenet_v2(),
    with_small_resnet(),
  ):
    yield


def with_small_efficientnet() -> contextlib.AbstractContextManager:
  """A context with an EfficientNetV2-B0 of 3 of 21 blocks, a quarter as wide.

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


def with_small_resnet() -> contextlib.AbstractContextManager:
  """A context with a ResNet50V2 of 2 of 16 blocks, an eighth as wide."""
  module = inspect.getmodule(tf.keras.applications.ResNet50V2)
  resnet = module.resnet
  add_stack = resnet.stack2

  def add_some(x, filters, blocks, stride1=2, name=None):
    if name != 'conv2':
      return x
    return add_stack(x, filters // 8, 2, stride1, name)

  return mock.patch.object(resnet, 'stack2', add_some)


def with_small_mobilenet_v2() -> contextlib.AbstractContextManager:
  """A context with a MobileNetV2 of its first three of 17 blocks."""
  module = inspect.getmodule(tf.keras.applications.MobileNetV2)
  name = '_inverted_res_block'
  add_block = getattr(module, name)

  def add_some(inputs, *args, block_id, **kwargs):
    if block_id > 2:
      return inputs
    return add_block(inputs, *args, block_id=block_id, **kwargs)

  return mock.patch.object(module, name, add_some)


def with_small_mobilenet() -> contextlib.AbstractContextManager:
  """A context with a MobileNet of three of its 13 blocks."""
  module = inspect.getmodule(tf.keras.applications.MobileNet)
  name = '_depthwise_conv_block'
  add_block = getattr(module, name)

  def add_some(inputs, *args, block_id, **kwargs):
    if block_id not in (1, 2, 13):
      return inputs
    return add_block(inputs, *args, block_id=block_id, **kwargs)

  return mock.patch.object(module, name, add_some)
