# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings that several programs have: files, models, seeds."""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import pathlib
from typing import BinaryIO

from tff_semifl import settings
from tff_semifl.export import exported_model as exported_model_lib
from tff_semifl.files import durable_files

_MAX_SEED = 2**31 - 1


def are_figures(files: Sequence[str]) -> bool:
  """Whether there are files, all in formats of figures."""
  suffixes = {pathlib.Path(file).suffix for file in files}
  return bool(files) and suffixes <= {'.png', '.pdf', '.svg'}


FIGURES = settings.Values(
  'files that each end in .png, .pdf or .svg', are_figures
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFile(settings.Settings):
  """A file of results, which is not replaced unless --overwrite is given."""

  output_file: str | None = settings.setting(None, 'File to write.')
  overwrite: bool = settings.setting(
    False, 'Whether to replace --output_file if it exists.'
  )

  def check(self) -> pathlib.Path | None:
    """Checks that the file can be written; None if no file is chosen."""
    if self.output_file is None:
      return None
    path = to_file(self.output_file)
    with settings.blame('output_file', self.output_file):
      if durable_files.is_special(path):
        raise ValueError('is not a regular file; name a file')
      if path.exists() and not self.overwrite:
        raise ValueError('exists; name another file, or give --overwrite')
    return path


def to_file(name: str) -> pathlib.Path:
  """The path of the flag --output_file, checked to be that of no folder."""
  path = pathlib.Path(name)
  with settings.blame('output_file', name):
    if not path.name or path.is_dir():
      raise ValueError('is a folder; name a file in it')
  return path


@contextlib.contextmanager
def writing(path: pathlib.Path) -> Iterator[None]:
  """Makes the folder of a file, and names --output_file in errors."""
  with settings.blame('output_file', path, OSError, durable_files.OutputError):
    path.parent.mkdir(parents=True, exist_ok=True)
    yield


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[BinaryIO]:
  """Opens the file --output_file, which is complete or stays as it was."""
  with writing(path), durable_files.replacing(path) as file:
    yield file


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportedModel(settings.Settings):
  """An exported model, and the files that it is used on."""

  exported_model: str | None = settings.setting(
    None,
    'Folder of a SavedModel, such as results/<experiment>/export, or a TFLite'
    ' file. It must be given.',
  )
  images: tuple[str, ...] | None = settings.setting(
    None,
    'In launch.predict: files and folders of images, separated by commas. In'
    ' launch.evaluate: a folder with a folder of images for each class. For a'
    ' model of features: files of feature vectors.',
  )

  def load(self) -> exported_model_lib.ExportedModel:
    """Loads the model."""
    with settings.blame(
      'exported_model',
      self.exported_model,
      ValueError,
      exported_model_lib.ExportedModelError,
    ):
      if not self.exported_model:
        raise ValueError('name the folder or the file of a model')
      return exported_model_lib.load(pathlib.Path(self.exported_model))

  def blame_images(
    self, *errors: type[Exception]
  ) -> contextlib.AbstractContextManager[None]:
    """Turns errors in the `with` block into errors of --images."""
    return settings.blame('images', self.images, *errors)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeastConfidence(settings.Settings):
  """The probability below which no class is predicted."""

  least_confidence: float | None = settings.setting(
    None,
    'Least probability of the most probable class for an image to be given it;'
    f' below, the class is {exported_model_lib.UNKNOWN}.'
    ' launch.export_saved_model: the value of the exported model, by default 0.'
    ' launch.predict: by default the value of the model. launch.evaluate shows'
    ' how many test images and noise images such thresholds leave, and how many'
    ' of the test images are right.',
    settings.FRACTION,
  )

  def value_for(self, class_names: Sequence[str], default: float) -> float:
    """The probability, checked for a model of these classes."""
    if self.least_confidence is None:
      return default
    with settings.blame('least_confidence', self.least_confidence):
      exported_model_lib.check_least_confidence(
        class_names, self.least_confidence
      )
    return self.least_confidence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seeds(settings.Settings):
  """The seeds of repeated runs."""

  seeds: tuple[str, ...] | None = settings.setting(
    None,
    'Seeds to train with, separated by commas; by default that of --seed, or'
    ' 0.',
  )

  def read(self, seed: int) -> list[int]:
    """The seeds, in order; only that of the flag --seed if none are given."""
    if self.seeds is None:
      return [seed]
    with settings.blame('seeds', self.seeds):
      if seed:
        raise ValueError('--seeds replaces --seed; leave --seed out')
      # `int` would also accept underscores, spaces and a sign.
      if not self.seeds or not all(
        text.isascii() and text.isdecimal() and int(text) <= _MAX_SEED
        for text in self.seeds
      ):
        raise ValueError(f'seeds are whole numbers from 0 to {_MAX_SEED}')
      seeds = [int(text) for text in self.seeds]
      if len(set(seeds)) < len(seeds):
        raise ValueError('each seed is trained with once')
    return seeds
