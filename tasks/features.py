# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task of a user's own feature vectors.

`feature_files` describes the file. Client ids in the file determine the
partition; without ids, the settings do.
"""

from collections.abc import Mapping
import dataclasses
import functools
import os
import pathlib
from typing import Any

from tff_semifl import settings
from tff_semifl.data import feature_files
from tff_semifl.experiment import image_task
from tff_semifl.experiment import loaded_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class Features(image_task.Task):
  """A user's own feature vectors, such as outputs of a pretrained network."""

  short_name = 'features'
  # A resumed run may read another file: digests are compared, not paths.
  told_by_data = ('features_file',)

  features_file: str | None = settings.setting(
    None,
    "File of arrays, .npz: the server's features and labels, client_features"
    ' with client_ids or client_labels, and test_features with test_labels; see'
    ' docs/features.md. It must be given.',
  )

  @property
  def gives_shares(self) -> bool:
    return self.features_file is not None and feature_files.has_client_ids(
      self.features_file
    )

  @property
  def usual(self) -> Mapping[str, Any]:
    return loaded_task.USUAL_OF_FEATURES

  @property
  def place(self) -> str:
    return pathlib.Path(self.features_file or '').stem

  def create(self) -> image_task.ImageTask:
    if self.features_file is None:
      raise settings.SettingError(
        'features_file', None, 'must be given: the .npz of your features'
      )
    with settings.blame('features_file', self.features_file):
      return _read(self.features_file, _find_version(self.features_file))


# Cached, because a program creates its task several times.
@functools.lru_cache(maxsize=1)
def _read(path: str, version: tuple[int, ...]) -> image_task.ImageTask:
  del version
  data, class_names = feature_files.read(path)
  return loaded_task.create_feature_task(
    data, class_names, origin_of_test='the file'
  )


def _find_version(path: str) -> tuple[int, ...]:
  try:
    found = os.stat(path)
  except OSError:
    # Ignored here: reading the file will report the error.
    return ()
  return found.st_ino, found.st_size, found.st_mtime_ns
