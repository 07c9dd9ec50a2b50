# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Groups of settings that several programs share: files, models, seeds."""

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import csv
import dataclasses
import io
import pathlib
from typing import BinaryIO

from tff_semifl import settings
from tff_semifl.export import exported_model as exported_model_lib
from tff_semifl.export import tflite
from tff_semifl.files import durable_files

_MAX_SEED = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFile(settings.Settings):
  """The setting of a results file, which is replaced only with --overwrite."""

  output_file: str | None = settings.setting(None, 'File to write.')
  overwrite: bool = settings.setting(
    False, 'Whether to replace --output_file if it exists.'
  )

  def check(self) -> pathlib.Path | None:
    """The path of the file, which must be writable; None without a file."""
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
  """The path of the flag --output_file; an error if it is a folder."""
  path = pathlib.Path(name)
  with settings.blame('output_file', name):
    if not path.name or path.is_dir():
      raise ValueError('is a folder; name a file in it')
  return path


@contextlib.contextmanager
def writing(path: pathlib.Path) -> Iterator[None]:
  """Creates a file's folder; errors in the `with` block name --output_file."""
  with settings.blame('output_file', path, OSError, durable_files.OutputError):
    path.parent.mkdir(parents=True, exist_ok=True)
    yield


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[BinaryIO]:
  """Opens the file --output_file, which is replaced once it is complete."""
  with writing(path), durable_files.replacing(path) as file:
    yield file


def write_table(
  path: pathlib.Path, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
  """Writes a CSV table to the file --output_file, and prints its path."""
  with replacing(path) as file:
    # File names may be invalid text, whose bytes are written unchanged.
    text = io.TextIOWrapper(file, 'utf-8', errors='surrogateescape', newline='')
    csv.writer(text, lineterminator='\n').writerows([columns, *rows])
    text.flush()
    # Detached, because `replacing` closes the file.
    text.detach()
  print(f'table: {path}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportedModel(settings.Settings):
  """The settings of an exported model and its input files."""

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
      return tflite.load(pathlib.Path(self.exported_model))

  def blame_images(
    self, *errors: type[Exception]
  ) -> contextlib.AbstractContextManager[None]:
    """Reports errors in the `with` block as errors of --images."""
    return settings.blame('images', self.images, *errors)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seeds(settings.Settings):
  """A setting for repeated runs: one seed for each run."""

  seeds: tuple[str, ...] | None = settings.setting(
    None, 'Seeds of the runs, separated by commas; by default --seed, or 0.'
  )

  def read(self, seed: int) -> list[int]:
    """The seeds, in order; by default only --seed."""
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
