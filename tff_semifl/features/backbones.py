# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pretrained backbones by name."""

import difflib
import pathlib

from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import efficientnet_lite
from tff_semifl.features import keras_files
from tff_semifl.features import keras_networks

# The size at which most networks are pretrained.
DEFAULT_SIZE = (224, 224)


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
      one of `pixels.NAMES`; '0_to_255' by default.
  """
  is_application = keras_networks.is_application(name)
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
    return keras_networks.load_application(
      name, size, weights or keras_networks.IMAGENET
    )
  input_range = input_range or '0_to_255'
  if name.endswith(keras_files.SUFFIX):
    return keras_files.load(pathlib.Path(name), image_size, input_range)
  if keras_networks.is_keras_cv(name):
    return keras_networks.load_keras_cv(name, size, input_range)
  raise backbone_lib.BackboneError(
    f'backbone {name}: there is none of this name{_guess(name)}; give'
    f' {efficientnet_lite.NAME}, a network of Keras Applications (MobileNetV2),'
    ' a preset of KerasCV (efficientnetv2_b0_imagenet), or a file'
    f' {keras_files.SUFFIX}'
  )


def _guess(name: str) -> str:
  known = {
    each.lower(): each
    for each in (efficientnet_lite.NAME, *keras_networks.application_names())
  }
  name = name.lower()
  found = [each for each in known if each.startswith(name)]
  found = found or difflib.get_close_matches(name, known, n=1)
  return f' (did you mean {known[found[0]]}?)' if found else ''
