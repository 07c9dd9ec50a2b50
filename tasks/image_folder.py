# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task of a user's own images: class folders of a server, and client folders.

The images of clients may be at sites instead, of which only names are known.

All images are read when the task is created, because the names of the classes,
the size of the images and the pixel statistics are taken from them.
`image_folders` describes the folders.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
import math
import os
import pathlib
import re
from typing import Any

from absl import logging
import numpy as np

from tff_semifl import settings
from tff_semifl import sites as sites_lib
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.data import site_images
from tff_semifl.data import sources
from tff_semifl.data import stored_images
from tff_semifl.experiments import image_task
from tff_semifl.experiments import loaded_task

# Larger images, such as photos from a camera, are used as they are only if
# --image_size asks for them: they fill the memory, and a step takes seconds.
_MAX_DEFAULT_SIZE = 128
# Where images have several sizes or are larger.
_DEFAULT_SIZE = (64, 64)
# 39,000 images of 96x96 in color.
_MAX_GIB_IN_MEMORY = 1


def parse_size(text: str) -> tuple[int, int] | None:
  """Returns height and width, or None if the text is not a size."""
  match = re.fullmatch(r'([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?', text)
  if match is None:
    return None
  height, width = match.groups()
  return int(height), int(width or height)


SIZES = settings.Values('like 64 or 48x64', parse_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading(settings.Settings):
  """The treatment of images in files."""

  on_odd_size: str = settings.setting(
    image_files.OnOddSize.RESIZE.value,
    'What to do if images have another size: resize keeps their proportions and'
    " crops them; refuse names them and ends the program, and --image_size's"
    " default is then that of the server's first image.",
    settings.one_of(*(each.value for each in image_files.OnOddSize)),
  )
  gray: bool = settings.setting(
    False,
    'Whether to train on gray images with one channel instead of color images'
    ' with three.',
  )

  @property
  def num_channels(self) -> int:
    """The number of channels of an image."""
    return 1 if self.gray else 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageFolder(image_task.Task):
  """A user's own images, in folders."""

  gives_shares = True
  # A resumed run may read the images from another folder: their digest is
  # compared.
  told_by_data = ('image_dir', 'images_on_disk')
  strong_augmentation = 'keras_cv_gentle'

  image_dir: str | None = settings.setting(
    None,
    'Folder with server/<class>/<image>, clients/<client>/<image> and'
    ' optionally test/<class>/<image>. It must be given.',
  )
  image_size: str | None = settings.setting(
    None,
    'Size of all images in pixels: 64, or height and width, 48x64. By default'
    f" the size of the server's images if they have one of up to"
    f' {_MAX_DEFAULT_SIZE} pixels, otherwise'
    f' {_DEFAULT_SIZE[0]}x{_DEFAULT_SIZE[1]}.',
    SIZES,
  )
  reading: Reading = Reading()
  flip: bool = settings.setting(
    True,
    'Whether to train on mirror images, too. Turn it off if the mirror image of'
    ' an image is not of the same class, as with writing.',
  )
  test_fraction: float | None = settings.setting(
    None,
    "Share of the server's images of each class that is used for testing"
    ' instead of training. It must be given if there is no test folder.',
    settings.INSIDE_0_TO_1,
  )

  images_on_disk: bool | None = settings.setting(
    None,
    "Whether clients' images are in a file in $TMPDIR, or /var/tmp, instead of"
    ' in memory, and read when a client has its turn; results are the same. By'
    f' default if they are more than {_MAX_GIB_IN_MEMORY} GiB.',
  )

  sites: tuple[str, ...] = settings.setting(
    (),
    'Names of the sites that have the images of clients, with commas: those of'
    ' launch.site on machines of the cluster of --ray_address. The folder has'
    ' none of clients then.',
    settings.Values(
      f'different names of {sites_lib.NAME_DESCRIPTION}',
      lambda names: (
        all(map(sites_lib.is_name, names)) and len(set(names)) == len(names)
      ),
    ),
  )

  @property
  def place(self) -> str:
    """The folder's name, a part of the default name of an experiment."""
    return pathlib.Path(self.image_dir).resolve().name

  @property
  def shares_description(self) -> str:
    """A short description of how the images are shared out."""
    return 'at sites' if self.sites else f'as in {self.image_dir}'

  @property
  def quick(self) -> Mapping[str, Any]:
    """Values of settings by name, for a first result within minutes.

    Images are small unless their size is chosen, and so is the network. Rate
    and threshold are those of the digits: with a few labels there are
    pseudo-labels after the first rounds.
    """
    if self.image_size is None:
      size = {'image_size': '32', 'model_depth': 10}
    else:
      # Whether a depth is possible depends on the size.
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
    """Returns this task with `image_size` set to the size of its images."""
    height, width, _ = task.image_shape
    return dataclasses.replace(self, image_size=f'{height}x{width}')

  def create(self) -> image_task.ImageTask:
    """Creates the task, which reads all images.

    Raises:
      settings.SettingError: If the images cannot be used.
    """
    if self.image_dir is None:
      raise settings.SettingError(
        'image_dir', None, 'the task needs the folder of its images'
      )
    # The last of these context managers handles an error first.
    with (
      settings.blame(
        'image_dir', self.image_dir, image_listing.ImageFolderError
      ),
      settings.blame(
        'image_size', self.image_size, image_folders.LargeImageError
      ),
      settings.blame(
        'on_odd_size', self.reading.on_odd_size, image_listing.OddSizeError
      ),
      settings.blame(
        'images_on_disk', self.images_on_disk, image_folders.StorageError
      ),
      settings.blame('sites', self.sites, ClientsHereError),
      settings.blame('test_fraction', self.test_fraction, TestImagesError),
    ):
      return _read(self)


# A program creates the task several times: for settings, for data and for each
# of several seeds.
@functools.lru_cache(maxsize=1)
def _read(folder: ImageFolder) -> image_task.ImageTask:
  return create_task(
    folder.image_dir,
    image_size=folder.image_size and parse_size(folder.image_size),
    num_channels=folder.reading.num_channels,
    on_odd_size=image_files.OnOddSize(folder.reading.on_odd_size),
    flip=folder.flip,
    test_fraction=folder.test_fraction,
    images_on_disk=folder.images_on_disk,
    sites=folder.sites,
  )


class TestImagesError(Exception):
  """The test images are ambiguous, missing or too few."""


class ClientsHereError(Exception):
  """There are images of clients, although sites have them."""


def create_task(
  root: str,
  *,
  image_size: tuple[int, int] | None = None,
  num_channels: int = 3,
  on_odd_size: image_files.OnOddSize = image_files.OnOddSize.RESIZE,
  flip: bool = True,
  test_fraction: float | None = None,
  images_on_disk: bool | None = None,
  sites: Sequence[str] = (),
) -> image_task.ImageTask:
  """Creates the task of a folder of images, which reads all images.

  Args:
    root: Folder with `server`, `clients` and optionally `test`.
    image_size: Height and width. None for those of the server's images, or for
      64x64 if these have several sizes or one above 128; if other sizes are
      refused, for those of its first image.
    num_channels: 3 for color images, 1 for gray ones.
    on_odd_size: What to do with images of another size.
    flip: Whether the mirror image of an image is of the same class.
    test_fraction: Share of the server's images of each class to test on, at
      least one image, if there is no folder `test`. The images are spread
      evenly over the sorted names of files and do not depend on a seed, so that
      all experiments have the same test images.
    images_on_disk: Whether clients' images are kept in a file instead of in
      memory; None if they are more than 1 GiB.
    sites: Names of the sites that have the images of clients, if they do.
      Clients are numbered in the order of these names.

  Returns:
    The task, with its images.

  Raises:
    image_listing.ImageFolderError: If the images cannot be used.
    TestImagesError: If there is both a folder `test` and a share, or neither,
      or if a class has too few images for the share.
    ClientsHereError: If there are sites and a folder `clients`.
  """
  folder = pathlib.Path(root)
  if sites and os.path.exists(folder / 'clients'):
    raise ClientsHereError(
      f'{folder / "clients"} has images of clients; leave it out, or the sites'
    )
  has_test = os.path.exists(folder / 'test')
  # Checked before any image is read, but only if `root` is such a folder;
  # otherwise reading it gives the clearer error.
  if os.path.isdir(folder / 'server') and has_test == (
    test_fraction is not None
  ):
    raise TestImagesError(
      f'{folder / "test"} has images to test on; leave it out'
      if has_test
      else f'there is no folder {folder / "test"}; add it, or say which share'
      " of the server's images to test on instead, such as 0.2"
    )
  found = image_folders.read_image_folders(
    root,
    image_size=image_size,
    max_default_size=_MAX_DEFAULT_SIZE,
    default_size=None
    if on_odd_size is image_files.OnOddSize.REFUSE
    else _DEFAULT_SIZE,
    num_channels=num_channels,
    on_odd_size=on_odd_size,
    max_bytes_in_memory={None: _MAX_GIB_IN_MEMORY * 2**30, True: 0}.get(
      images_on_disk, math.inf
    ),
    has_clients=not sites,
  )
  unlabeled, shares = found.unlabeled, found.shares
  if sites:
    unlabeled = site_images.SiteImages(
      sorted(sites), found.labeled.images.shape[1:]
    )
    # Each stands for all of its images.
    shares = np.split(np.arange(len(sites)), len(sites))
  if isinstance(found.unlabeled, stored_images.StoredImages):
    logging.warning(
      "%s: clients' images, %.1f GB, are in a file in %s and not in memory,"
      ' which images_on_disk can change',
      root,
      math.prod(found.unlabeled.shape) / 1e9,
      stored_images.folder(),
    )
  if found.num_resized:
    logging.warning(
      '%s: %d of %d images have another size and are scaled and cropped to'
      ' %dx%d, which image_size can change; on_odd_size=refuse would name them',
      root,
      found.num_resized,
      found.num_images,
      *found.labeled.images.shape[1:3],
    )
  train, test = found.labeled, found.test
  if test is None:
    train, test = _hold_out(train, test_fraction, found.class_names)
  return loaded_task.create_task(
    image_task.TaskData(
      train=train, test=test, unlabeled=unlabeled, shares=shares
    ),
    found.class_names,
    flip=flip,
    origin_of_test='the test folder' if has_test else "the server's",
    num_resized=found.num_resized,
  )


def _hold_out(
  data: sources.LabeledImages,
  fraction: float,
  class_names: tuple[str, ...],
) -> tuple[sources.LabeledImages, sources.LabeledImages]:
  """Returns images to train and to test on, with some of each class."""
  is_test = np.zeros(len(data.labels), bool)
  for label, name in enumerate(class_names):
    indices = np.flatnonzero(data.labels == label)
    num_test = max(round(fraction * len(indices)), 1)
    if num_test >= len(indices):
      raise TestImagesError(
        f'class {name} has too few labeled images, {len(indices)}, to test on'
        f' {num_test} and train on others'
      )
    positions = (np.arange(num_test) + 0.5) * len(indices) / num_test
    is_test[indices[positions.astype(np.int64)]] = True
  return (
    data.select(np.flatnonzero(~is_test)),
    data.select(np.flatnonzero(is_test)),
  )
