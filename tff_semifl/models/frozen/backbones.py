# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pretrained backbones by name."""

import inspect
import json
import pathlib
import sys
from typing import Any
import zipfile

import tensorflow as tf

from tff_semifl.models.frozen import backbone as backbone_lib
from tff_semifl.models.frozen import efficientnet_lite

# The pixels per side at which most networks are pretrained.
DEFAULT_SIZE = (224, 224)
SUFFIX = '.keras'
# Packages whose classes and functions only build layers. Keras imports the
# modules that a file names, and calls their classes and functions.
_PACKAGES = frozenset(
  {'builtins', 'keras', 'keras_cv', 'tensorflow', 'tf_keras', 'tff_semifl'}
)


def load_application(
  name: str, image_size: tuple[int, int]
) -> backbone_lib.Backbone:
  """Loads a network of Keras Applications, pretrained on ImageNet.

  Pixels are scaled by the `preprocess_input` of the network's module. Keras
  downloads the weights to ~/.keras/models once.
  """
  function = getattr(tf.keras.applications, name)
  try:
    network = function(include_top=False, input_shape=(*image_size, 3))
  # Keras raises a plain Exception for a failed download.
  except Exception as error:
    raise backbone_lib.BackboneError(
      f'backbone {name}: {_reason(error)}; if the download failed, copy the'
      ' file of weights to ~/.keras/models'
    ) from error
  module = function.__module__
  return backbone_lib.Backbone(
    name,
    network,
    backbone_lib.Preparation(
      image_size,
      f'preprocess_input of {module.rpartition(".")[2]}',
      sys.modules[module].preprocess_input,
    ),
  )


def load_keras_file(
  path: pathlib.Path, image_size: tuple[int, int] | None = None
) -> backbone_lib.Backbone:
  """Loads a backbone from a file that `model.save('mine.keras')` wrote.

  The model takes pixels in 0..255; a network for another range of pixels needs
  a `Rescaling` layer first. Keras' safe mode is on: no lambdas, and only layers
  of Keras, KerasCV and this package. `image_size` is by default the model's
  size, or 224x224 if the model takes any size.
  """
  network = _load_keras_file(path)
  shape = getattr(network, 'input_shape', None)
  if isinstance(shape, tuple) and len(shape) == 4:
    # `Backbone` checks the shape if both sizes are given.
    size = (shape[1], shape[2])
    if None not in size:
      image_size = image_size or size
    else:
      image_size = image_size or DEFAULT_SIZE
      inputs = tf.keras.Input((*image_size, shape[3]))
      network = tf.keras.Model(inputs, network(inputs))
  prepare = backbone_lib.Preparation(
    image_size or DEFAULT_SIZE, '0_to_255', tf.identity
  )
  return backbone_lib.Backbone(str(path), network, prepare)


def _load_keras_file(path: pathlib.Path) -> tf.keras.Model:
  try:
    # Keras would read other files in an older format, which may run code.
    if path.suffix != SUFFIX or not zipfile.is_zipfile(path):
      raise ValueError(f'it is missing or no {SUFFIX} file of Keras')
    with zipfile.ZipFile(path) as archive:
      check_modules(json.loads(archive.read('config.json')))
    # Registers KerasCV's layers, which the file may use.
    backbone_lib.import_keras_cv()
    return tf.keras.models.load_model(path, compile=False, safe_mode=True)
  # Keras raises errors of many types for damaged files.
  except Exception as error:
    raise backbone_lib.BackboneError(
      f'backbone {path}: {_reason(error)}; give a model of layers of Keras or'
      f" KerasCV, written by model.save('name{SUFFIX}')"
    ) from error


def _reason(error: Exception) -> str:
  return str(error).partition('\n')[0] or type(error).__name__


def check_modules(config: Any) -> None:
  """Raises `ValueError` if a configuration uses code of other packages."""
  if isinstance(config, list):
    for each in config:
      check_modules(each)
  elif isinstance(config, dict):
    module = config.get('module')
    if isinstance(module, str) and module.split('.')[0] not in _PACKAGES:
      raise ValueError(f'it asks for code of {module}')
    if config.get('class_name') in ('Lambda', '__lambda__'):
      raise ValueError('it has a lambda, which may be any code')
    for each in config.values():
      check_modules(each)


def load(
  name: str, image_size: tuple[int, int] | None = None
) -> backbone_lib.Backbone:
  """Loads a pretrained backbone.

  `name` is efficientnet_lite0, a network of Keras Applications, or a `.keras`
  file. Images are resized to `image_size`: by default, the file's or 224x224.
  """
  if name.endswith(SUFFIX):
    return load_keras_file(pathlib.Path(name), image_size)
  size = image_size or DEFAULT_SIZE
  if name == efficientnet_lite.NAME:
    return efficientnet_lite.load(size)
  if inspect.isfunction(vars(tf.keras.applications).get(name)):
    return load_application(name, size)
  raise backbone_lib.BackboneError(
    f'backbone {name}: there is none of this name; give'
    f' {efficientnet_lite.NAME}, a network of Keras Applications, or a file'
    f' {SUFFIX}'
  )
