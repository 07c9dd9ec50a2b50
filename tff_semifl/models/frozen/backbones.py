# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pretrained backbones by name."""

import difflib
import inspect
import json
import pathlib
import sys
from typing import Any
import zipfile

import tensorflow as tf

from tff_semifl.models.frozen import backbone as backbone_lib
from tff_semifl.models.frozen import efficientnet_lite

# The size at which most networks are pretrained.
DEFAULT_SIZE = (224, 224)
IMAGENET = 'imagenet'
SUFFIX = '.keras'
# Keras imports the modules that a file names, and takes classes and functions
# from these modules. In these packages, they only build layers.
_PACKAGES = frozenset(
  {'builtins', 'keras', 'keras_cv', 'tensorflow', 'tf_keras', 'tff_semifl'}
)


def _application_names() -> list[str]:
  """The names of all networks of Keras Applications."""
  return sorted(
    name
    for name, found in vars(tf.keras.applications).items()
    if inspect.isfunction(found)
  )


def load_application(
  name: str, image_size: tuple[int, int], weights: str = IMAGENET
) -> backbone_lib.Backbone:
  """Loads a network of Keras Applications.

  Pixels are scaled by the `preprocess_input` of the network's module. `weights`
  are 'imagenet', which Keras downloads to ~/.keras/models once, or an HDF5 file
  with the weights of the network without its last layer.
  """
  function = getattr(tf.keras.applications, name)
  if weights != IMAGENET and not pathlib.Path(weights).is_file():
    raise backbone_lib.BackboneError(
      f'backbone {name}: the file of weights {weights} is missing'
    )
  try:
    network = function(
      include_top=False, weights=weights, input_shape=(*image_size, 3)
    )
  # Keras raises a plain Exception for a failed download.
  except Exception as error:
    remedy = (
      'if the download failed, copy the file to ~/.keras/models'
      if weights == IMAGENET
      else f'give the file of save_weights of {name}(include_top=False)'
    )
    raise backbone_lib.BackboneError(
      f'backbone {name} with weights {weights}: {_reason(error)}; {remedy}'
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


def is_keras_cv(name: str) -> bool:
  """Whether `name` is the name or folder of a KerasCV preset."""
  config = pathlib.Path(name) / 'config.json'
  return _find_preset_class(name) is not None or config.is_file()


def load_keras_cv(
  name: str, image_size: tuple[int, int], input_range: str = '0_to_255'
) -> backbone_lib.Backbone:
  """Loads a KerasCV backbone with the weights of a preset.

  `input_range` must be '0_to_255' for presets with `include_rescaling`.
  """
  prepare = backbone_lib.in_range(image_size, input_range)
  preset_class = _find_preset_class(name)
  try:
    if preset_class is None:
      preset_class = backbone_lib.import_keras_cv().models.Backbone
      config = json.loads((pathlib.Path(name) / 'config.json').read_text())
      check_modules(config)
      if not config.get('weights'):
        raise ValueError('it has no weights')
    network = preset_class.from_preset(
      name, load_weights=True, input_shape=(*image_size, 3)
    )
    # KerasCV's class warns when TensorFlow looks at its attributes.
    network = tf.keras.Model(network.inputs, network.outputs[0])
  # The network, Kaggle and damaged files fail with errors of many types.
  except Exception as error:
    raise backbone_lib.BackboneError(
      f'backbone {name} of KerasCV: {_reason(error)}; give a preset with'
      ' weights, or the folder of one'
    ) from error
  return backbone_lib.Backbone(name, network, prepare)


def _find_preset_class(name: str) -> Any:
  models = backbone_lib.import_keras_cv().models
  for found in filter(inspect.isclass, vars(models).values()):
    if issubclass(found, models.Backbone) and name in found.presets:
      return found
  return None


def load_keras_file(
  path: pathlib.Path,
  image_size: tuple[int, int] | None = None,
  input_range: str = '0_to_255',
) -> backbone_lib.Backbone:
  """Loads a backbone from a file that `model.save('mine.keras')` wrote.

  Keras' safe mode is on: no lambdas, and only layers of Keras, KerasCV and this
  package. If `image_size` is None, it is the model's size, or 224x224 if the
  model takes any size.
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
  prepare = backbone_lib.in_range(image_size or DEFAULT_SIZE, input_range)
  return backbone_lib.Backbone(str(path), network, prepare)


def _load_keras_file(path: pathlib.Path) -> tf.keras.Model:
  try:
    # Keras would load other files as one of its older formats, which may run
    # code.
    if path.suffix != SUFFIX or not zipfile.is_zipfile(path):
      raise ValueError(f'it is missing or no {SUFFIX} file of Keras')
    with zipfile.ZipFile(path) as archive:
      check_modules(json.loads(archive.read('config.json')))
    # Registers KerasCV's layers, which the file may name.
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
  """Raises `ValueError` for a configuration with code of other packages."""
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
  name: str,
  *,
  image_size: tuple[int, int] | None = None,
  weights: str | None = None,
  input_range: str | None = None,
) -> backbone_lib.Backbone:
  """Loads a pretrained backbone.

  Args:
    image_size: Height and width that images are resized to; None for 224x224,
      or for the size of a `.keras` file. Time grows with the number of pixels.
    input_range: For KerasCV and `.keras` files: the pixel range of the network,
      one of `pixels.RANGES`; '0_to_255' by default.
  """
  is_application = name in _application_names()
  if weights is not None and not is_application:
    raise ValueError(
      f'weights: found {weights!r}, but {name} has its own; leave it out'
    )
  if input_range is not None and (
    is_application or name == efficientnet_lite.NAME
  ):
    raise ValueError(
      f'input_range: found {input_range!r}, but {name} has its own; leave it'
      ' out'
    )
  size = image_size or DEFAULT_SIZE
  if name == efficientnet_lite.NAME:
    return efficientnet_lite.load(size)
  if is_application:
    return load_application(name, size, weights or IMAGENET)
  input_range = input_range or '0_to_255'
  if name.endswith(SUFFIX):
    return load_keras_file(pathlib.Path(name), image_size, input_range)
  if is_keras_cv(name):
    return load_keras_cv(name, size, input_range)
  raise backbone_lib.BackboneError(
    f'backbone {name}: there is none of this name{_guess(name)}; give'
    f' {efficientnet_lite.NAME}, a network of Keras Applications, a preset of'
    f' KerasCV, or a file {SUFFIX}'
  )


def _guess(name: str) -> str:
  names = (efficientnet_lite.NAME, *_application_names())
  known = {each.lower(): each for each in names}
  found = difflib.get_close_matches(name.lower(), known, n=1)
  return f' (did you mean {known[found[0]]}?)' if found else ''
