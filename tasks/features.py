# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task of a user's own feature vectors, in a file of arrays.

`feature_files` describes the file. Where it has ids of clients, it says who has
which vectors. Otherwise settings do.
"""

from collections.abc import Mapping
import dataclasses
import functools
import os
import pathlib
from typing import Any

from tff_semifl import settings
from tff_semifl.data import feature_files
from tff_semifl.experiments import feature_task
from tff_semifl.experiments import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class Features(image_task.Task):
  """A user's own feature vectors, such as those of a pretrained network."""

  short_name = 'features'
  # A resumed run may read them from another file: their digest is compared.
  told_by_data = ('features_file',)

  features_file: str | None = settings.setting(
    None,
    "File of arrays, .npz: the server's features and labels, client_features"
    ' with client_ids or client_labels, and test_features with test_labels; see'
    ' docs/features.md. It must be given.',
  )

  @property
  def gives_shares(self) -> bool:
    """True if the file says which client has which vectors."""
    return self.features_file is not None and feature_files.has_client_ids(
      self.features_file
    )

  @property
  def usual(self) -> Mapping[str, Any]:
    """Values of settings by name that suit features."""
    return feature_task.USUAL

  @property
  def place(self) -> str:
    """The file's name, a part of the default name of an experiment."""
    return pathlib.Path(self.features_file or '').stem

  @property
  def shares_description(self) -> str:
    """A short description of how the vectors are shared out."""
    return f'as in {self.features_file}'

  def create(self) -> image_task.ImageTask:
    """Creates the task, which reads the file.

    Raises:
      settings.SettingError: If the features cannot be used.
    """
    if self.features_file is None:
      raise settings.SettingError(
        'features_file', None, 'must be given: the .npz of your features'
      )
    with settings.blame(
      'features_file', self.features_file, feature_files.FeatureFileError
    ):
      return _read(self.features_file, _find_version(self.features_file))


# A program creates the task several times.
@functools.lru_cache(maxsize=1)
def _read(path: str, version: tuple[int, ...]) -> image_task.ImageTask:
  del version  # Only for the cache.
  found = feature_files.read(path)
  return feature_task.create_task(
    image_task.TaskData(
      train=found.labeled,
      test=found.test,
      unlabeled=found.unlabeled,
      shares=found.shares,
      unlabeled_labels=found.client_labels,
    ),
    found.class_names,
    origin_of_test='the file',
  )


def _find_version(path: str) -> tuple[int, ...]:
  """Returns what tells a file from an earlier one of the same name."""
  try:
    found = os.stat(path)
  except OSError:
    # Whoever reads it names it.
    return ()
  return found.st_ino, found.st_size, found.st_mtime_ns
