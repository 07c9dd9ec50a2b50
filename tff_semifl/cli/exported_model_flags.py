# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Flags of programs that use an exported model."""

import contextlib
import pathlib

from absl import flags

from tff_semifl.cli import program
from tff_semifl.data import image_files
from tff_semifl.export import exported_model

EXPORTED_MODEL = flags.DEFINE_string(
  'exported_model',
  None,
  'Folder of a SavedModel, such as results/<experiment>/export, or a TFLite'
  ' file.',
)
IMAGES = flags.DEFINE_list(
  'images',
  None,
  'In launch.predict: files and folders of images, separated by commas. In'
  ' launch.evaluate: a folder with a folder of images for each class. For a'
  ' model of features: files of feature vectors.',
)


def load_model() -> exported_model.ExportedModel:
  """Loads the model that --exported_model names."""
  with program.blame(
    EXPORTED_MODEL, ValueError, exported_model.ExportedModelError
  ):
    if not EXPORTED_MODEL.value:
      raise ValueError('name the folder or the file of a model')
    return exported_model.load(pathlib.Path(EXPORTED_MODEL.value))


def say_transparent(
  model: exported_model.ExportedModel, num_images: int
) -> None:
  """Prints the number of images with transparency, if any."""
  if num_images:
    print(
      f'transparent images: {num_images}, on'
      f' {image_files.name_color(model.background)} as in training'
    )


def blame_images(
  *errors: type[Exception],
) -> contextlib.AbstractContextManager[None]:
  """Turns errors in the `with` block into errors of --images."""
  return program.blame(IMAGES, *errors, value=','.join(IMAGES.value or ()))
