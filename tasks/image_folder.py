# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task of a user's own images, in class folders and client folders.

`image_folders` describes the folders. Images are read when the task is created;
clients' images may stay at sites instead.
"""

from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import hashlib
import os
import pathlib
import re
from typing import Any

from tff_semifl import settings
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.experiment import image_task
from tff_semifl.experiment import loaded_task
from tff_semifl.runtime import sites as sites_lib


def parse_size(text: str) -> tuple[int, int] | None:
  """Height and width; None if the text is not a size."""
  match = re.fullmatch(r'([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?', text)
  if match is None:
    return None
  height, width = match.groups()
  return int(height), int(width or height)


def create_form(size: str | None, *, gray: bool) -> image_reading.ImageForm:
  """The size and channels of images; `size` is text such as '64' or '48x64'."""
  return image_reading.ImageForm(size and parse_size(size), 1 if gray else 3)


SIZES = settings.Values('like 64 or 48x64', parse_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageFolder(image_task.Task):
  """A user's own images, in folders."""

  short_name = 'image_folder'
  gives_shares = True
  # A resumed run may read another folder: digests are compared, not paths.
  told_by_data = ('image_dir',)
  strong_augmentation = 'keras_cv_gentle'

  image_dir: str | None = settings.setting(
    None,
    'Folder with server/<class>/<image>, clients/<client>/<image> and'
    ' optionally test/<class>/<image>. It must be given.',
  )
  image_size: str | None = settings.setting(
    None,
    'Size of all images in pixels: 64, or height and width, 48x64. By default'
    f" the common size of the server's images if it is at most"
    f' {image_folders.MAX_DEFAULT_SIZE} pixels, otherwise'
    f' {image_folders.DEFAULT_SIZE[0]}x{image_folders.DEFAULT_SIZE[1]}.',
    SIZES,
  )
  gray: bool = settings.setting(
    False,
    'Whether to train on gray images with one channel instead of color images'
    ' with three.',
  )
  flip: bool = settings.setting(
    True,
    'Whether to also train on mirror images. Turn it off if a mirror image may'
    ' have another class, as with writing.',
  )
  test_fraction: float | None = settings.setting(
    None,
    "Fraction of each class of the server's images that is used for testing"
    ' instead of training. It must be given if there is no test folder.',
    settings.INSIDE_0_TO_1,
  )

  sites: tuple[str, ...] = settings.setting(
    (),
    "Comma-separated names of the sites that hold clients' images, as in"
    ' launch.site on the cluster of --ray_address. Then the folder must not'
    ' have client folders.',
    settings.Values(
      f'different names of {sites_lib.NAME_DESCRIPTION}',
      lambda names: (
        all(map(sites_lib.is_name, names)) and len(set(names)) == len(names)
      ),
    ),
  )

  @property
  def place(self) -> str:
    return pathlib.Path(self.image_dir).resolve().name

  @property
  def quick(self) -> Mapping[str, Any]:
    if self.image_size is None:
      size = {'image_size': '32', 'model_depth': 10}
    else:
      # The possible depths of the network depend on the image size.
      size = {'model_width': 1}
    return {
      **size,
      'learning_rate': 0.1,
      'confidence_threshold': 0.9,
      'server_epochs': 10,
      'client_epochs': 1,
      'total_rounds': 15,
      'threads_per_operation': 1,
    }

  def fill_in(self, task: image_task.ImageTask) -> 'ImageFolder':
    height, width, _ = task.image_shape
    return dataclasses.replace(self, image_size=f'{height}x{width}')

  def create(self) -> image_task.ImageTask:
    if self.image_dir is None:
      raise settings.SettingError(
        'image_dir', None, 'must be given: the folder of your images'
      )
    with image_task.blame_data(self, 'image_dir'):
      return _read(self, _find_versions(self.image_dir))


# Cached, because a program creates its task several times.
@functools.lru_cache(maxsize=1)
def _read(folder: ImageFolder, versions: str) -> image_task.ImageTask:
  del versions
  return loaded_task.create_folder_task(
    folder.image_dir,
    create_form(folder.image_size, gray=folder.gray),
    flip=folder.flip,
    test_fraction=folder.test_fraction,
    sites=folder.sites,
  )


def _find_versions(root: str) -> str:
  """A digest of the names, sizes and times of all files in a folder."""
  digest = hashlib.sha256()
  # Ignored here: reading the folder and the file will report the error.
  with contextlib.suppress(data_errors.DataError):
    for folder in image_listing.walk(pathlib.Path(root)):
      for path in sorted(folder.glob('*')):
        with contextlib.suppress(OSError):
          found = os.stat(path)
          version = (path, found.st_ino, found.st_size, found.st_mtime_ns)
          digest.update(repr(version).encode())
  return digest.hexdigest()
