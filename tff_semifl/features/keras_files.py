# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Backbones from users' Keras files, which never run code."""

import json
import pathlib
from typing import Any
import zipfile

import tensorflow as tf

from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import preparation
from tff_semifl.features import quiet_keras_cv

SUFFIX = '.keras'
# Keras imports the modules that a file names, and takes classes and functions
# from them. Those of these packages only build layers.
_PACKAGES = frozenset(
  {'builtins', 'keras', 'keras_cv', 'tensorflow', 'tf_keras', 'tff_semifl'}
)


def load(
  path: pathlib.Path,
  image_size: tuple[int, int] | None = None,
  input_range: str = '0_to_255',
) -> backbone_lib.Backbone:
  """Loads the backbone of a file that `model.save('mine.keras')` wrote.

  Keras' safe mode is on: no lambdas, and only layers of Keras, KerasCV and this
  package.

  Args:
    path: The file, with a functional or sequential model from images [height,
      width, 3] to vectors or feature maps, without the classification layer.
    image_size: Height and width of its input; None for that of the model, or
      224x224 if the model takes any.
    input_range: The pixel range of the model, one of `pixels.NAMES`;
      '0_to_255' if it scales pixels itself.
  """
  network = _load(path)
  shape = getattr(network, 'input_shape', None)
  if isinstance(shape, tuple) and len(shape) == 4:
    # `Backbone` checks the shape if both sizes are given.
    size = (shape[1], shape[2])
    if None not in size:
      image_size = image_size or size
    else:
      image_size = image_size or (224, 224)
      inputs = tf.keras.Input((*image_size, shape[3]))
      network = tf.keras.Model(inputs, network(inputs))
  prepare = preparation.in_range(image_size or (224, 224), input_range)
  return backbone_lib.Backbone(str(path), network, prepare)


def _load(path: pathlib.Path) -> tf.keras.Model:
  try:
    # Keras would load other files as one of its older formats, which may run
    # code.
    if path.suffix != SUFFIX or not zipfile.is_zipfile(path):
      raise ValueError(f'it is missing or no {SUFFIX} file of Keras')
    with zipfile.ZipFile(path) as archive:
      check_modules(json.loads(archive.read('config.json')))
    # Registers KerasCV's layers, which the file may name.
    quiet_keras_cv.load()
    return tf.keras.models.load_model(path, compile=False, safe_mode=True)
  # Keras raises errors of many types for damaged files.
  except Exception as error:
    reason = str(error).partition('\n')[0] or type(error).__name__
    raise backbone_lib.BackboneError(
      f'backbone {path}: {reason}; give a model of layers of Keras or KerasCV,'
      f" written by model.save('name{SUFFIX}')"
    ) from error


def check_modules(config: Any) -> None:
  """Refuses a model's configuration that names code of other packages."""
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
