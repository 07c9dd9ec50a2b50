# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Backbones of users: Keras files, of which no code is run."""

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

  It is loaded in Keras' safe mode, without lambdas, and with layers of Keras,
  KerasCV and this package alone.

  Args:
    path: The file, with a functional or sequential model from images [height,
      width, 3] to vectors or feature maps: without a classifier's last layer.
    image_size: Height and width of its input; None for that of the model, or
      224x224 if the model takes any.
    input_range: The range of pixels it takes, one of `pixel_ranges.NAMES`;
      '0_to_255' if the model scales them itself.

  Returns:
    The backbone.

  Raises:
    backbone_lib.BackboneError: If there is no such model in the file.
    ValueError: If there is no such range.
  """
  network = _load(path)
  shape = getattr(network, 'input_shape', None)
  if isinstance(shape, tuple) and len(shape) == 4:
    # Checked with all else if both are given.
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
    # Any other file Keras would load as one of its older formats, which may
    # run code.
    if path.suffix != SUFFIX or not zipfile.is_zipfile(path):
      raise ValueError(f'it is missing or no {SUFFIX} file of Keras')
    with zipfile.ZipFile(path) as archive:
      check_modules(json.loads(archive.read('config.json')))
    # Registers its layers, which the file may have.
    quiet_keras_cv.load()
    return tf.keras.models.load_model(path, compile=False, safe_mode=True)
  # Keras raises errors of many types about damaged files.
  except Exception as error:
    reason = str(error).partition('\n')[0] or type(error).__name__
    raise backbone_lib.BackboneError(
      f'backbone {path}: {reason}; give a model of layers of Keras or KerasCV,'
      f" written by model.save('name{SUFFIX}')"
    ) from error


def check_modules(config: Any) -> None:
  """Refuses the configuration of a model that names code of other packages.

  Args:
    config: The configuration, as its JSON file has it.

  Raises:
    ValueError: If it names the module of another package, or a lambda.
  """
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
