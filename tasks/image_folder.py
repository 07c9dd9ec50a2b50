# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A user's own images: class folders of a server, folders of clients.

All of it is read when the task is created, as names of classes, size and pixel
statistics come with the images. `image_folders` says what the folders are.
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

# Without being asked, nobody trains on photos as a camera takes them: they fill
# the memory, and the network for them has millions of weights in each layer.
_MAX_DEFAULT_SIZE = 128
# Largest shift of a weak view: 4 pixels of 32, 12 of 96, as the papers have it.
_PADDING_SHARE = 8
# In each group of the WideResNet; the paper's 28 layers are four in each of
# three groups, and 37, for images of 96x96, four in each of four.
_BLOCKS_PER_GROUP = 4


def _parse_size(text: str) -> tuple[int, int] | None:
  """Returns height and width, or None if that is not what the text says."""
  match = re.fullmatch(r'([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?', text)
  if match is None:
    return None
  height, width = match.groups()
  return int(height), int(width or height)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageFolder(image_task.Task):
  """Images of your own, in folders."""

  gives_shares = True
  # Images may be moved; what they are is compared as a whole.
  told_by_data = ('image_dir',)
  strong_augmentation = 'keras_cv_gentle'

  image_dir: str | None = settings.setting(
    None,
    'Folder with server/<class>/<image>, clients/<client>/<image> and perhaps'
    ' test/<class>/<image>. It must be given.',
  )
  image_size: str | None = settings.setting(
    None,
    'Pixels of all images: 64, or height and width, 48x64. By default those of'
    " the server's first image, which then must not be large.",
    settings.Values('like 64 or 48x64', lambda text: _parse_size(text)),
  )
  on_odd_size: str = settings.setting(
    image_files.OnOddSize.REFUSE.value,
    'What to do if images have another size: refuse names them and ends; resize'
    ' keeps their proportions and cuts off what is beyond.',
    settings.one_of(*(each.value for each in image_files.OnOddSize)),
  )
  grey: bool = settings.setting(
    False,
    'Whether to train on shades of grey, one channel, and not on three of'
    ' color.',
  )
  flip: bool = settings.setting(
    True,
    'Whether the mirror image of an image is of the same class, so that it can'
    ' be trained on too: wrong for writing, say.',
  )
  test_fraction: float | None = settings.setting(
    None,
    "Share of the server's images of each class to test on instead of to train"
    ' on. It must be given if there is no test folder.',
    settings.INSIDE_0_TO_1,
  )

  @property
  def place(self) -> str:
    """Its piece of the default name of an experiment: the folder's name."""
    return pathlib.Path(self.image_dir).resolve().name

  @property
  def shares_description(self) -> str:
    """In a few words, who has which images."""
    return f'as in {self.image_dir}'

  def fill_in(self, task: image_task.ImageTask) -> 'ImageFolder':
    """Returns it with the size of its images."""
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
    # The last of them looks first.
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


# A program asks several times, for settings, data and each of several seeds.
@functools.lru_cache(maxsize=1)
def _read(folder: ImageFolder) -> image_task.ImageTask:
  return create_task(
    folder.image_dir,
    image_size=folder.image_size and _parse_size(folder.image_size),
    num_channels=1 if folder.grey else 3,
    on_odd_size=image_files.OnOddSize(folder.on_odd_size),
    flip=folder.flip,
    test_fraction=folder.test_fraction,
  )


class TestImagesError(Exception):
  """It is not clear, or not possible, what to test on."""


def create_task(
  root: str,
  *,
  image_size: tuple[int, int] | None = None,
  num_channels: int = 3,
  on_odd_size: image_files.OnOddSize = image_files.OnOddSize.REFUSE,
  flip: bool = True,
  test_fraction: float | None = None,
) -> image_task.ImageTask:
  """Creates the task of a folder of images, and reads them all.

  Mean and standard deviation of pixels are the server's: those of the clients'
  images would be something that clients tell. Strong views are KerasCV's in
  their gentle form, whose shifts are shares of an image's size and suit any.
  SemiFL's pool shifts by 100 pixels and covers 40x40, whatever the size: of
  images of up to 100 pixels it leaves one view in seven blank, and the tables
  of the paper are of just that (C.3). FixMatch's is made for 32 pixels, and
  does little to large images.

  Args:
    root: Folder with `server`, `clients` and perhaps `test`.
    image_size: Height and width; None for those of the server's first image.
    num_channels: 3 for colours, 1 for grey.
    on_odd_size: What to do with images of another size.
    flip: Whether the mirror image of an image is of the same class.
    test_fraction: Share of the server's images of each class to test on, at
      least one image, where there is no folder `test`. They are spread evenly
      over the names of files and no matter of a seed, so that all experiments
      are tested on the same.

  Raises:
    image_folders.ImageFolderError: If the images cannot be used.
    TestImagesError: If there are test images as well as a share, or neither,
      or if a class has too few images for a share.
  """
  folder = pathlib.Path(root)
  has_test = os.path.exists(folder / 'test')
  # Before anything is read, but not before it is known to be such a folder.
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
  train, test = found.labelled, found.test
  if test is None:
    train, test = _hold_out(train, test_fraction, found.class_names)
  data = image_task.TaskData(
    train=train, test=test, unlabelled=found.unlabelled, shares=found.shares
  )
  pixel_mean, pixel_standard_deviation = sources.measure_pixels(train.images)
  image_shape = train.images.shape[1:]
  weak_augmentation = functools.partial(
    weak.flip_and_crop,
    flip=flip,
    padding=min(image_shape[:2]) // _PADDING_SHARE,
  )
  num_groups = wide_resnet.default_num_groups(image_shape)
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
    # Stem and classifier, and two layers a block with one more a group.
    model_depth=num_groups * (2 * _BLOCKS_PER_GROUP + 1) + 1,
    model_width=2,
    num_labeled=len(train.labels),
    data_description=_describe(data, found.class_names, held_out=not has_test),
  )


def _hold_out(
  data: sources.LabelledImages,
  fraction: float,
  class_names: tuple[str, ...],
) -> tuple[sources.LabelledImages, sources.LabelledImages]:
  """Returns images to train and to test on, with some of each class."""
  is_test = np.zeros(len(data.labels), bool)
  for label, name in enumerate(class_names):
    indices = np.flatnonzero(data.labels == label)
    num_test = max(round(fraction * len(indices)), 1)
    if num_test >= len(indices):
      raise TestImagesError(
        f'class {name} has too few labelled images, {len(indices)}, to test on'
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
  """Says in a line how much there is, with a digest of all of it."""
  digest = hashlib.sha256()
  for part in (data.train, data.unlabelled, data.test):
    digest.update(repr(part.images.shape).encode())
    digest.update(np.ascontiguousarray(part.images))
    digest.update(part.labels)
  sizes = [len(share) for share in data.shares]
  digest.update(repr((sizes, class_names)).encode())
  origin = "the server's" if held_out else 'the test folder'
  return (
    f'{len(data.train.labels)} labelled images,'
    f' {len(data.unlabelled.labels)} of {len(sizes)} clients,'
    f' {len(data.test.labels)} of {origin} for testing,'
    f' SHA-256 {digest.hexdigest()[:16]}'
  )
