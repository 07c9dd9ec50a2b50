# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of --task=image_folder, which trains on a user's own images.

Defaults are filled in by `resolve`: with other tasks, that have no use for
them, the flags have no value.
"""

import re
from typing import NamedTuple

from absl import flags

from launch import data_flags
from launch import program
from tff_semifl.data import image_files

IMAGE_DIR = flags.DEFINE_string(
  'image_dir',
  None,
  'Folder with server/<class>/<image>, clients/<client>/<image> and perhaps'
  ' test/<class>/<image>. This and the flags with it are for'
  ' --task=image_folder only.',
)
IMAGE_SIZE = flags.DEFINE_string(
  'image_size',
  None,
  'Pixels of all images: 64, or height and width, 48x64. By default those of'
  " the server's first image, which then must not be large.",
)
ON_ODD_SIZE = flags.DEFINE_enum(
  'on_odd_size',
  None,
  [each.value for each in image_files.OnOddSize],
  'What to do if images have another size: refuse, the default, names them and'
  ' ends; resize keeps their proportions and cuts off what is beyond.',
)
GREY = flags.DEFINE_bool(
  'grey',
  None,
  'Whether to train on shades of grey, one channel, and not on three of colour.'
  ' By default false.',
)
FLIP = flags.DEFINE_bool(
  'flip',
  None,
  'Whether the mirror image of an image is of the same class, so that it can be'
  ' trained on too: true by default, but wrong for writing, say.',
)
TEST_FRACTION = flags.DEFINE_float(
  'test_fraction',
  None,
  "Share of the server's images of each class, between 0 and 1, to test on"
  ' instead of to train on. It must be given if there is no test folder.',
)

flags.register_validator(
  IMAGE_SIZE.name,
  lambda value: value is None or _parse_size(value) is not None,
  message='must be like 64 or 48x64',
)
flags.register_validator(
  TEST_FRACTION.name,
  lambda value: value is None or 0 < value < 1,
  message='must be between 0 and 1',
)

# What other tasks need to be told.
_OF_OTHER_TASKS = (
  (data_flags.DATA_DIR, 'has its images in --image_dir'),
  (data_flags.NUM_LABELED, 'has as many as are in its folder server'),
) + tuple(
  (flag, 'has a client for each folder in its folder clients')
  for flag in (
    data_flags.PARTITION,
    data_flags.CLASSES_PER_CLIENT,
    data_flags.DIRICHLET_CONCENTRATION,
    data_flags.SKEW,
    data_flags.NUM_CLIENTS,
  )
)


class ImageFolderSettings(NamedTuple):
  """The flags with defaults filled in, all None with other tasks.

  Attributes:
    image_dir: The folder.
    image_size: Height and width, or None for those of the first image.
    on_odd_size: What to do with images of another size.
    grey: Whether images have one channel.
    flip: Whether mirror images are of the same class.
    test_fraction: Share of labelled images to test on, if there is one.
  """

  image_dir: str | None
  image_size: tuple[int, int] | None
  on_odd_size: str | None
  grey: bool | None
  flip: bool | None
  test_fraction: float | None


def resolve() -> ImageFolderSettings:
  """Returns the flags with defaults filled in.

  Raises:
    program.FlagError: If a flag is given that the task has no use for, or if
      the folder is not given.
  """
  task = data_flags.TASK.value
  is_used = task == data_flags.IMAGE_FOLDER

  def value_of(flag: flags.FlagHolder, default: object = None) -> object:
    return program.resolve(
      flag,
      default,
      is_used=is_used,
      no_use=f'--task={task} has no use for it, only'
      f' --task={data_flags.IMAGE_FOLDER} has',
    )

  settings = ImageFolderSettings(
    image_dir=value_of(IMAGE_DIR),
    image_size=_parse_size(value_of(IMAGE_SIZE)),
    on_odd_size=value_of(ON_ODD_SIZE, image_files.OnOddSize.REFUSE.value),
    grey=value_of(GREY, False),
    flip=value_of(FLIP, True),
    test_fraction=value_of(TEST_FRACTION),
  )
  if is_used:
    for flag, reason in _OF_OTHER_TASKS:
      with program.blame(flag, ValueError):
        if flag.present:
          raise ValueError(f'--task={task} {reason}; leave it out')
    with program.blame(IMAGE_DIR, ValueError):
      if settings.image_dir is None:
        raise ValueError(f'--task={task} needs the folder of its images')
  return settings


def _parse_size(text: str | None) -> tuple[int, int] | None:
  """Returns height and width, or None if that is not what the text says."""
  match = re.fullmatch(r'([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?', text or '')
  if match is None:
    return None
  height, width = match.groups()
  return int(height), int(width or height)
