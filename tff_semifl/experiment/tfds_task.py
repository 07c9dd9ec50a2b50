# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks on data sets of TensorFlow Datasets (TFDS)."""

from collections.abc import Callable
import dataclasses
import functools
from typing import ClassVar

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import semifl_policy
from tff_semifl.data import sources
from tff_semifl.experiment import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
  """A data set of TFDS, with the constants of a paper's experiments.

  Attributes are as in `ImageTask`. In addition there are the name and
  configuration in TFDS, and the largest shift in pixels (`padding`).
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
    # A slow import, which other tasks do not need.
    from tff_semifl.data import tfds_images

    splits = tfds_images.load(self.name, ('train', 'test'), data_dir)
    return sources.TaskData(*splits)

  def _load_test(
    self, data_dir: str | None, *, may_download: bool
  ) -> sources.LabeledImages:
    from tff_semifl.data import tfds_images

    [test] = tfds_images.load(
      self.name, ('test',), data_dir, may_download=may_download
    )
    return test

  def as_in_zhang2020(self) -> 'DataSet':
    """The data set with the constants of Zhang et al.

    Images have three channels. Augmentations shift by up to an eighth of the
    image, and mirror images of all classes, even digits. Pixels are normalized
    with the authors' constants of CIFAR-10, even for SVHN.
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
