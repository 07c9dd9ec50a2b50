# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task of a user's own images: class folders of a server, and client folders.

All images are read when the task is created, because the names of the classes,
the size of the images and the pixel statistics are taken from them.
`image_folders` describes the folders.
"""

import dataclasses
import functools
import hashlib
import os
import pathlib
import re

import numpy as np

from tff_semifl import settings
from tff_semifl.augment import keras_cv_policy
from tff_semifl.augment import weak
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import sources
from tff_semifl.experiments import image_task
from tff_semifl.models import wide_resnet

# Larger images, such as photos from a camera, are used only if --image_size
# asks for them: they fill the memory, and their network has millions of weights
# in each layer.
_MAX_DEFAULT_SIZE = 128
# The largest shift of a weak view is this part of the image's size: 4 pixels of
# 32 and 12 of 96, as in the papers.
_PADDING_SHARE = 8
# Blocks in each group of the WideResNet. The paper's 28 layers have four blocks
# in each of three groups, and 37 layers, for images of 96x96, four blocks in
# each of four groups. Larger images, of 128 pixels and more, have five groups,
# which would be 24 million weights, and at 224 pixels 12 seconds of CPU for a
# step of 10 images. Half the blocks and half the width are 3 million weights
# and less than 2 seconds.
_BLOCKS_PER_GROUP = 4
_WIDTH = 2
_MAX_WIDE_GROUPS = 4


def _parse_size(text: str) -> tuple[int, int] | None:
  """Returns height and width, or None if the text is not a size."""
  match = re.fullmatch(r'([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?', text)
  if match is None:
    return None
  height, width = match.groups()
  return int(height), int(width or height)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageFolder(image_task.Task):
  """A user's own images, in folders."""

  gives_shares = True
  # A resumed run may read the images from another folder: their digest is
  # compared.
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
    " the size of the server's first image, which must not be large then.",
    settings.Values('like 64 or 48x64', lambda text: _parse_size(text)),
  )
  on_odd_size: str = settings.setting(
    image_files.OnOddSize.REFUSE.value,
    'What to do if images have another size: refuse names them and ends the'
    ' program; resize keeps their proportions and crops them.',
    settings.one_of(*(each.value for each in image_files.OnOddSize)),
  )
  gray: bool = settings.setting(
    False,
    'Whether to train on gray images with one channel instead of color images'
    ' with three.',
  )
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

  @property
  def place(self) -> str:
    """The folder's name, a part of the default name of an experiment."""
    return pathlib.Path(self.image_dir).resolve().name

  @property
  def shares_description(self) -> str:
    """A short description of how the images are shared out."""
    return f'as in {self.image_dir}'

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
        'image_dir', self.image_dir, image_folders.ImageFolderError
      ),
      settings.blame(
        'image_size', self.image_size, image_folders.LargeImageError
      ),
      settings.blame(
        'on_odd_size', self.on_odd_size, image_folders.OddSizeError
      ),
      settings.blame('test_fraction', self.test_fraction, TestImagesError),
    ):
      return _read(self)


# A program creates the task several times: for settings, for data and for each
# of several seeds.
@functools.lru_cache(maxsize=1)
def _read(folder: ImageFolder) -> image_task.ImageTask:
  return create_task(
    folder.image_dir,
    image_size=folder.image_size and _parse_size(folder.image_size),
    num_channels=1 if folder.gray else 3,
    on_odd_size=image_files.OnOddSize(folder.on_odd_size),
    flip=folder.flip,
    test_fraction=folder.test_fraction,
  )


class TestImagesError(Exception):
  """The test images are ambiguous, missing or too few."""


def create_task(
  root: str,
  *,
  image_size: tuple[int, int] | None = None,
  num_channels: int = 3,
  on_odd_size: image_files.OnOddSize = image_files.OnOddSize.REFUSE,
  flip: bool = True,
  test_fraction: float | None = None,
) -> image_task.ImageTask:
  """Creates the task of a folder of images, which reads all images.

  The mean and standard deviation of pixels are those of the server's images:
  statistics of the clients' images would reveal something about them. Strong
  views come from the gentle form of KerasCV's RandAugment, whose shifts are
  shares of an image's size and so suit any size. SemiFL's augmentation shifts
  by 100 pixels and covers 40x40 pixels at any size: with images of up to 100
  pixels it leaves one view in seven blank, as it does in the experiments of the
  paper's tables (C.3). FixMatch's is made for images of 32 pixels and changes
  large images little.

  Args:
    root: Folder with `server`, `clients` and optionally `test`.
    image_size: Height and width; None for those of the server's first image.
    num_channels: 3 for color images, 1 for gray ones.
    on_odd_size: What to do with images of another size.
    flip: Whether the mirror image of an image is of the same class.
    test_fraction: Share of the server's images of each class to test on, at
      least one image, if there is no folder `test`. The images are spread
      evenly over the sorted names of files and do not depend on a seed, so that
      all experiments have the same test images.

  Returns:
    The task, with its images.

  Raises:
    image_folders.ImageFolderError: If the images cannot be used.
    TestImagesError: If there is both a folder `test` and a share, or neither,
      or if a class has too few images for the share.
  """
  folder = pathlib.Path(root)
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
    num_channels=num_channels,
    on_odd_size=on_odd_size,
  )
  train, test = found.labeled, found.test
  if test is None:
    train, test = _hold_out(train, test_fraction, found.class_names)
  data = image_task.TaskData(
    train=train, test=test, unlabeled=found.unlabeled, shares=found.shares
  )
  pixel_mean, pixel_standard_deviation = sources.measure_pixels(train.images)
  image_shape = train.images.shape[1:]
  weak_augmentation = functools.partial(
    weak.flip_and_crop,
    flip=flip,
    padding=min(image_shape[:2]) // _PADDING_SHARE,
  )
  num_groups = wide_resnet.default_num_groups(image_shape)
  shrinks_by = 1 if num_groups <= _MAX_WIDE_GROUPS else 2
  return image_task.ImageTask(
    image_shape=image_shape,
    class_names=found.class_names,
    pixel_mean=pixel_mean,
    pixel_standard_deviation=pixel_standard_deviation,
    load=lambda: data,
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.weak_then_strong(
      weak_augmentation, keras_cv_policy.build_gentle_rand_augment()
    ),
    # One layer of the stem, and in each group two layers for each block and one
    # more.
    model_depth=num_groups * (2 * _BLOCKS_PER_GROUP // shrinks_by + 1) + 1,
    model_width=_WIDTH // shrinks_by,
    num_labeled=len(train.labels),
    data_description=_describe(data, found.class_names, held_out=not has_test),
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


def _describe(
  data: image_task.TaskData, class_names: tuple[str, ...], *, held_out: bool
) -> str:
  """Returns a line with the numbers of images and a digest of all of them."""
  digest = hashlib.sha256()
  no_labels = np.full(len(data.unlabeled), sources.UNKNOWN_LABEL, np.int32)
  unlabeled = sources.LabeledImages(data.unlabeled, no_labels)
  for part in (data.train, unlabeled, data.test):
    digest.update(repr(part.images.shape).encode())
    digest.update(np.ascontiguousarray(part.images))
    digest.update(part.labels)
  sizes = [len(share) for share in data.shares]
  digest.update(repr((sizes, class_names)).encode())
  origin = "the server's" if held_out else 'the test folder'
  return (
    f'{len(data.train.labels)} labeled images,'
    f' {len(data.unlabeled)} of {len(sizes)} clients,'
    f' {len(data.test.labels)} of {origin} for testing,'
    f' SHA-256 {digest.hexdigest()[:16]}'
  )
