# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks on data sets of TensorFlow Datasets (TFDS)."""

from collections.abc import Callable, Sequence
import contextlib
import dataclasses
import functools
import pathlib
import re
import sys
import textwrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import semifl_policy
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.experiment import image_task

if TYPE_CHECKING:
  import tensorflow_datasets as tfds

# Without a network, TFDS's default of 10 retries takes more than three minutes
# to fail; 5 retries take ten seconds.
_MAX_RETRIES = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
  """A data set of TFDS, with the constants of a paper's experiments.

  Attributes are as in `ImageTask`. In addition, `name` is the name in TFDS,
  `flip` allows mirror images, and `padding` is the largest shift in pixels.
  """

  name: str
  image_shape: tuple[int, int, int]
  class_names: tuple[str, ...]
  pixel_mean: tuple[float, ...]
  pixel_standard_deviation: tuple[float, ...]
  flip: bool
  padding: int
  build_strong_augmentation: Callable[[], augmentation.Augmentation] = (
    semifl_policy.build_semifl_rand_augment
  )
  model_depth: int
  model_width: int
  model_num_groups: int | None = None
  num_labeled: int

  def create_task(self, data_dir: str | None) -> image_task.ImageTask:
    weak_augmentation = functools.partial(
      augmentation.flip_and_crop, flip=self.flip, padding=self.padding
    )
    return image_task.ImageTask(
      image_shape=self.image_shape,
      class_names=self.class_names,
      pixel_mean=self.pixel_mean,
      pixel_standard_deviation=self.pixel_standard_deviation,
      load=functools.partial(self._load, data_dir),
      load_test=functools.partial(self._load_test, data_dir),
      weak_augmentation=weak_augmentation,
      strong_augmentation=image_task.weak_then_strong(
        weak_augmentation, self.build_strong_augmentation()
      ),
      model_depth=self.model_depth,
      model_width=self.model_width,
      model_num_groups=self.model_num_groups,
      num_labeled=self.num_labeled,
    )

  def _load(self, data_dir: str | None) -> sources.TaskData:
    return sources.TaskData(*load(self.name, ('train', 'test'), data_dir))

  def _load_test(
    self, data_dir: str | None, *, may_download: bool
  ) -> sources.LabeledImages:
    [test] = load(self.name, ('test',), data_dir, may_download=may_download)
    return test

  def as_in_zhang2020(self) -> 'DataSet':
    """The data set with the constants of Zhang et al., for color images.

    Augmentations shift images by up to an eighth of their size, and flip images
    of all classes, even digits. Pixels are normalized with the authors'
    constants of CIFAR-10, even for SVHN.
    """
    return dataclasses.replace(
      self,
      pixel_mean=(0.4914, 0.4822, 0.4465),
      pixel_standard_deviation=(0.2471, 0.2435, 0.2616),
      flip=True,
      padding=min(self.image_shape[:2]) // 8,
      build_strong_augmentation=(
        fixmatch_policy.build_fixmatch_pytorch_rand_augment
      ),
      # The smallest number in the paper's tables.
      num_labeled=1000,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TFDSTask(image_task.Task):
  """Base class of tasks on data sets of TFDS."""

  data_set: ClassVar[DataSet]

  data_dir: str | None = settings.setting(
    None,
    'Folder of TensorFlow Datasets, by default its own default. Missing data'
    ' are downloaded.',
  )

  def create(self) -> image_task.ImageTask:
    return self.data_set.create_task(self.data_dir)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TFDSTaskOfBothPapers(TFDSTask):
  """Base class of tasks that both SemiFL and Zhang et al. use."""

  zhang2020_augmentation: bool = settings.setting(
    False,
    'Whether to augment and normalize images as in the code of Zhang et al.',
  )

  def create(self) -> image_task.ImageTask:
    if not self.zhang2020_augmentation:
      return super().create()
    return self.data_set.as_in_zhang2020().create_task(self.data_dir)


def load(
  name: str,
  splits: Sequence[str],
  data_dir: str | None,
  *,
  may_download: bool = True,
) -> list[sources.LabeledImages]:
  """Loads splits of an image data set, and downloads it on first use.

  `data_dir` is a folder of TFDS; None for TFDS's default folder.
  """
  if data_dir is not None and not pathlib.Path(data_dir).is_dir():
    raise data_errors.DataError(
      'there is no such folder; create it to download into'
    )
  # A slow import, which other tasks do not need.
  import tensorflow_datasets as tfds
  from tensorflow_datasets.core.download import downloader

  downloader.MAX_RETRIES = _MAX_RETRIES
  folder = data_dir or tfds.core.constants.DATA_DIR
  missing = f'data set {name!r} is not in {folder}'
  try:
    # Messages about downloads are not results of the program.
    with contextlib.redirect_stdout(sys.stderr):
      builder = tfds.builder(name, data_dir=data_dir)
      if may_download:
        builder.download_and_prepare()
  # Networks and mirrors fail with errors of many types.
  except Exception as error:
    raise data_errors.DataError(
      f'{missing} and could not be downloaded ({_first_line(error)}); name a'
      ' folder that has it'
    ) from error
  if not builder.is_prepared():
    raise data_errors.DataError(missing)
  return [_read_split(builder, split) for split in splits]


def _read_split(
  builder: 'tfds.core.DatasetBuilder', split: str
) -> sources.LabeledImages:
  import tensorflow_datasets as tfds

  try:
    # In one batch, TFDS decodes images in parallel and keeps their order.
    dataset = builder.as_dataset(split=split, batch_size=-1, as_supervised=True)
    images, labels = tfds.as_numpy(dataset)
  # TFDS and TensorFlow raise errors of many types for damaged files.
  except Exception as error:
    raise data_errors.DataError(
      f'split {split!r} of data set {builder.name!r} cannot be read'
      f' ({_first_line(error)}); with {builder.data_dir} removed, it would be'
      ' downloaded again'
    ) from error
  return sources.LabeledImages(images, labels.astype(np.int32))


def _first_line(error: Exception) -> str:
  # TensorFlow's messages begin and end with names of operations.
  text = re.sub(r'^{{.*?}} | \[Op:.*', '', str(error).strip())
  lines = text.splitlines()
  return textwrap.shorten(lines[0], 150) if lines else type(error).__name__
