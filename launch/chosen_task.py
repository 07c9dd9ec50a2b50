# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The task that the flags choose."""

import functools

from launch import augmentation_flags
from launch import data_flags
from launch import image_folder_flags
from launch import program
from tasks import benchmark_views
from tasks import image_folder
from tasks import image_task
from tasks import registry
from tff_semifl.data import image_files
from tff_semifl.data import image_folders


def create_task() -> image_task.ImageTask:
  """Creates the task, which for --task=image_folder reads all images.

  Raises:
    program.FlagError: If a flag is given that the task has no use for, or if
      the images of a folder cannot be used.
  """
  settings = image_folder_flags.resolve()
  if data_flags.TASK.value != data_flags.IMAGE_FOLDER:
    task = registry.create_task(data_flags.TASK.value)
    return _with_views(task)
  flags = image_folder_flags
  # The last of them looks first.
  with (
    program.blame(flags.IMAGE_DIR, image_folders.ImageFolderError),
    program.blame(flags.IMAGE_SIZE, image_folders.LargeImageError),
    program.blame(
      flags.ON_ODD_SIZE,
      image_folders.OddSizeError,
      value=settings.on_odd_size,
    ),
    program.blame(flags.TEST_FRACTION, image_folder.TestImagesError),
  ):
    return _read(settings)


def _with_views(task: image_task.ImageTask) -> image_task.ImageTask:
  """Returns the task with the benchmark's views, if these are asked for."""
  if not augmentation_flags.BENCHMARK_VIEWS.value:
    return task
  with program.blame(augmentation_flags.BENCHMARK_VIEWS, ValueError):
    if data_flags.TASK.value not in ('cifar10', 'svhn'):
      raise ValueError('it is for the tasks cifar10 and svhn; leave it out')
    return benchmark_views.adapt_task(task)


def flag_values() -> dict[str, object]:
  """Returns the flags of --task=image_folder, and those that it decides.

  With defaults filled in, by name; none for other tasks.
  """
  if data_flags.TASK.value != data_flags.IMAGE_FOLDER:
    return {}
  task = create_task()
  height, width, _ = task.image_shape
  return {
    **image_folder_flags.resolve()._asdict(),
    image_folder_flags.IMAGE_SIZE.name: f'{height}x{width}',
    augmentation_flags.STRONG_AUGMENTATION.name: (
      augmentation_flags.STRONG_AUGMENTATION.value
      or augmentation_flags.IMAGE_FOLDER_AUGMENTATION
    ),
    data_flags.PARTITION.name: None,
    data_flags.NUM_CLIENTS.name: len(task.load(None).shares),
  }


def names_of_flags_told_by_data() -> frozenset[str]:
  """Returns the flags that `data_description` says all about.

  Images may be moved, and what they are is compared as a whole.
  """
  if data_flags.TASK.value != data_flags.IMAGE_FOLDER:
    return frozenset()
  return frozenset(
    flag.name
    for flag in (
      image_folder_flags.IMAGE_DIR,
      data_flags.NUM_LABELED,
      data_flags.NUM_CLIENTS,
    )
  )


# A program asks several times, for settings, data and each of several seeds.
@functools.lru_cache(maxsize=1)
def _read(
  settings: image_folder_flags.ImageFolderSettings,
) -> image_task.ImageTask:
  return image_folder.create_task(
    settings.image_dir,
    image_size=settings.image_size,
    num_channels=1 if settings.grey else 3,
    on_odd_size=image_files.OnOddSize(settings.on_odd_size),
    flip=settings.flip,
    test_fraction=settings.test_fraction,
  )
