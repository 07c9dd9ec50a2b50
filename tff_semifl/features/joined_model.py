# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Joins a backbone and a linear head to one Keras model."""

import numpy as np
import tensorflow as tf

from tff_semifl.features import backbone as backbone_lib


def join(
  backbone: backbone_lib.Backbone,
  kernel: np.ndarray,
  bias: np.ndarray,
  image_shape: tuple[int, int, int] | None = None,
) -> tf.keras.Model:
  """Joins preparation, backbone and head, for `saved_model` and `tflite`.

  Args:
    kernel: float [feature_dimension, classes].
    bias: float [classes].

  Returns:
    A model from float32 [batch, *image_shape] in 0..255 to logits, float32
    [batch, classes].
  """
  dimension = backbone.feature_dimension
  if (
    np.ndim(kernel) != 2
    or len(kernel) != dimension
    or np.shape(bias) != np.shape(kernel)[1:]
  ):
    raise ValueError(
      f'found a head of kernel {list(np.shape(kernel))} and bias'
      f' {list(np.shape(bias))}; features of {backbone.name} need'
      f' [{dimension}, classes] and [classes]'
    )
  inputs = tf.keras.Input(image_shape or (*backbone.image_size, 3))
  prepared = _Prepare(backbone, name='prepare')(inputs)
  features = backbone.network(prepared, training=False)
  head = tf.keras.layers.Dense(len(bias), name='head')
  model = tf.keras.Model(
    inputs, head(features), name='frozen_backbone_with_head'
  )
  head.set_weights([kernel, bias])
  return model


class _Prepare(tf.keras.layers.Layer):
  def __init__(self, backbone: backbone_lib.Backbone, **kwargs):
    super().__init__(trainable=False, **kwargs)
    self._preparation = backbone.preparation

  def call(self, images: tf.Tensor) -> tf.Tensor:
    return self._preparation(images)
