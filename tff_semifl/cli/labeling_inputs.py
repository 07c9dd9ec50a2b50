# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Inputs and outputs of the programs that choose images and check labels."""

from collections.abc import Sequence
import contextlib
import dataclasses
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import parts
from tff_semifl.data import data_errors
from tff_semifl.data import feature_files
from tff_semifl.data import image_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.experiment import frozen_models
from tff_semifl.results import page

_MAX_BYTES_IN_MEMORY = 2**30


class FileFeatures(NamedTuple):
  """Features of image files, or of rows of a features file.

  Attributes:
    features: float32 [images, features].
    files: The paths of image files, or the row numbers of a features file.
    labels: int32 [images]; None without labels.
    class_names: The names of the classes; empty without labels.
  """

  features: np.ndarray
  files: Sequence[Any]
  labels: np.ndarray | None = None
  class_names: Sequence[str] = ()

  def show(self, index: int, caption: str) -> str:
    """An image with a caption, as HTML."""
    image = image_files.read_image_of_any_size(self.files[index], 3)
    return page.show_image(image, caption)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelingInput(settings.Settings):
  """The settings of labeled and unlabeled images, and of the network."""

  labeled_dir: str | None = settings.setting(
    None,
    'Folder with a folder of images for each class, such as photos/server.',
  )
  image_dir: str | None = settings.setting(
    None, 'Folder of images without labels, in folders of any depth.'
  )
  features_file: str | None = settings.setting(
    None,
    'File .npz in place of the folders, with features, float [images,'
    ' features], and optional labels [images], -1 for no label.',
  )
  model: frozen_models.Frozen = settings.choice(
    frozen_models.MODELS,
    'frozen:efficientnet_lite0',
    'The pretrained network whose features are compared, as for launch.train.',
    load=frozen_models.load,
  )

  def check(self, folder: str) -> str:
    """The given flag, `folder` or features_file; exactly one must be given."""
    if self.features_file is None:
      if getattr(self, folder) is None:
        raise command_line.UsageError(f'give --{folder} or --features_file')
      return folder
    for name in ('labeled_dir', 'image_dir'):
      if getattr(self, name) is not None:
        raise command_line.UsageError(
          f'give --{name} or --features_file, not both'
        )
    return 'features_file'

  def read_labeled(self) -> FileFeatures | None:
    """Reads the labeled images; None if there are none."""
    if self.features_file is not None:
      return self._read_rows(labeled=True)
    if self.labeled_dir is None:
      return None
    root = pathlib.Path(self.labeled_dir)
    problems = []
    with _blame('labeled_dir', root):
      folders = image_listing.list_folders(root, problems)
      # Class folders may be empty before the first image is labeled.
      problems = [each for each in problems if each.reason != 'is empty']
      data_errors.raise_if_any(root, problems)
      files = [file for each in folders.values() for file in each]
      if not files:
        return None
      found = self._compute(root, files, 'labeled')
    labels = np.repeat(
      np.arange(len(folders), dtype=np.int32), [*map(len, folders.values())]
    )
    return found._replace(labels=labels, class_names=tuple(folders))

  def read_unlabeled(self) -> FileFeatures:
    """Reads the images without labels."""
    if self.features_file is not None:
      return self._read_rows(labeled=False)
    with _blame('image_dir', self.image_dir):
      files = image_listing.list_files([self.image_dir])
      return self._compute(pathlib.Path(self.image_dir), files, 'unlabeled')

  def _read_rows(self, *, labeled: bool) -> FileFeatures:
    with _blame('features_file', self.features_file):
      features, labels = feature_files.read_partly_labeled(self.features_file)
    is_labeled = labels != ('' if labels.dtype.kind == 'U' else -1)
    rows = np.flatnonzero(is_labeled == labeled)
    found = FileFeatures(features[rows], rows.tolist())
    if not labeled:
      return found
    names, indices = np.unique(labels[rows], return_inverse=True)
    return found._replace(
      labels=indices.astype(np.int32), class_names=[*map(str, names)]
    )

  def _compute(
    self, root: pathlib.Path, files: Sequence[pathlib.Path], kind: str
  ) -> FileFeatures:
    problems = []
    form = image_reading.ImageForm(self.model.input_size)
    images = image_reading.read(files, form, problems, _MAX_BYTES_IN_MEMORY)
    data_errors.raise_if_any(root, problems)
    return FileFeatures(self.model.compute_features(kind, images.images), files)


def _blame(name: str, value: object) -> contextlib.AbstractContextManager[None]:
  return settings.blame(name, value, data_errors.DataError, ValueError)


def check_outputs(
  output: parts.OutputFile,
) -> tuple[pathlib.Path, pathlib.Path]:
  """The paths of the table and its HTML page; checks that both are writable."""
  path = output.check()
  with settings.blame('output_file', output.output_file):
    if path is None or path.suffix != '.csv':
      raise ValueError('name a .csv file to write')
  sheet = path.with_suffix('.html')
  dataclasses.replace(output, output_file=str(sheet)).check()
  return path, sheet


def write_page(path: pathlib.Path, content: str) -> None:
  """Writes an HTML page, and prints the page's path."""
  with parts.replacing(path) as file:
    file.write(content.encode(errors='backslashreplace'))
  print(f'page: {path}')
