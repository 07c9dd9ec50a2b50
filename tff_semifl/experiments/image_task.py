# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A classification task: images or features, their views, and a model."""

import abc
from collections.abc import Callable, Mapping, Sequence
import contextlib
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.data import image_files
from tff_semifl.data import sources
from tff_semifl.randomness import random_seeds


class TaskData(NamedTuple):
  """The images of a task, or feature vectors in their place.

  Attributes:
    train: To be shared out among server and clients; all of it the server's if
      there are `shares`.
    test: To evaluate on.
    unlabeled: More images for the clients, which nobody trains on with labels,
      uint8 [number, height, width, channels], in memory or in a file; or those
      of sites. None for most tasks.
    shares: For each client the int64 indices of its images in `unlabeled`,
      where it is given who has what; None for most tasks.
    names: What to call each image of `train`, then of `test`, then of
      `unlabeled`, such as its file; None for what they are in.
    unlabeled_labels: int32 [number], the classes of `unlabeled`, with
      `UNKNOWN_LABEL` where nobody knows them; None if nobody knows any. They
      serve partitions and measurements; nobody trains on them.
  """

  train: sources.LabeledImages
  test: sources.LabeledImages
  unlabeled: sources.Images | None = None
  shares: list[np.ndarray] | None = None
  names: Sequence[str] | None = None
  unlabeled_labels: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageTask:
  """A classification task, of images or of feature vectors.

  Attributes:
    image_shape: Height, width and channels; or the number of features, which is
      what says that these are features (`example_kinds`).
    class_names: A name for each class, in the order of the labels.
    pixel_mean: Mean of each channel over the training images, in 0..1; or of
      each feature.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1; or of
      each feature.
    load: Loads the data. Raises `sources.DataNotFoundError` if they cannot be
      had.
    load_test: (may_download=bool) -> the test images alone, likewise. None
      where nothing is saved by it.
    weak_augmentation: Small changes, for the server and for pseudo-labels.
    strong_augmentation: Large changes, for what clients train on.
    model_depth: Depth of the WideResNet.
    model_width: Width of the WideResNet.
    model_num_groups: Groups of the WideResNet, or None for as many as suit the
      size of the images.
    num_labeled: Labeled images at the server, if nobody says otherwise; None
      if somebody has to.
    background: The color behind what is transparent in files of images.
    images: The task whose images these features were computed of, where they
      were.
    data_description: A line on the data, where they may change under the same
      name; no two data have the same. None for most tasks.
  """

  image_shape: tuple[int, ...]
  class_names: tuple[str, ...]
  pixel_mean: tuple[float, ...]
  pixel_standard_deviation: tuple[float, ...]
  load: Callable[[], TaskData] = dataclasses.field(
    metadata=settings.TOLD_ELSEWHERE
  )
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  model_depth: int
  model_width: int
  model_num_groups: int | None = None
  num_labeled: int | None
  background: image_files.Color = image_files.WHITE
  load_test: Callable[..., sources.LabeledImages] | None = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )
  images: 'ImageTask | None' = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )
  # It is recorded beside the settings.
  data_description: str | None = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )

  @property
  def outside(self) -> 'ImageTask':
    """The task that users of the exported model have: of images if possible."""
    return self.images or self

  @property
  def num_classes(self) -> int:
    """Number of classes."""
    return len(self.class_names)

  def load_test_images(
    self, *, may_download: bool = True
  ) -> sources.LabeledImages:
    """Loads the images to evaluate on, without the others where possible.

    Args:
      may_download: Whether to download what is not there.

    Raises:
      sources.DataNotFoundError: If they cannot be had.
    """
    if self.load_test is None:
      return self.load().test
    return self.load_test(may_download=may_download)


class Task(settings.Settings, abc.ABC):
  """Base of the tasks: a part with the settings of a task.

  Attributes:
    short_name: What this very class is called by in `TASKS`; a class that
      derives from it has no such name, or another.
    gives_shares: Whether the task itself says which client has which images.
    told_by_data: Names of settings of which `ImageTask.data_description` says
      all that matters, so that they may change when a run is resumed.
    strong_augmentation: Name of the strong views that it has if nobody chooses
      others, where that is to be written down; None for most tasks.
    sites: Names of the sites that have the images of clients, where no other
      machine has them.
  """

  short_name: ClassVar[str | None] = None
  gives_shares: ClassVar[bool] = False
  told_by_data: ClassVar[tuple[str, ...]] = ()
  strong_augmentation: ClassVar[str | None] = None
  sites: ClassVar[tuple[str, ...]] = ()

  @property
  def reference(self) -> str:
    """Its name in records: the short one, or that of its class."""
    short_name = vars(type(self)).get('short_name')
    return short_name or settings.qualified_name(type(self))

  @property
  def place(self) -> str:
    """Its piece of the default name of an experiment, where data may differ."""
    return ''

  @property
  def shares_description(self) -> str:
    """In a few words, who has which images, where it `gives_shares`."""
    return 'as the task has it'

  @property
  def usual(self) -> Mapping[str, Any]:
    """Values of settings by name that suit its examples, if any do.

    They count where nothing is chosen. Most tasks have none.
    """
    return {}

  @property
  def quick(self) -> Mapping[str, Any]:
    """Values of settings by name, for a first result within minutes.

    `launch.demo` has them where nothing is chosen. Most tasks have none.
    """
    return {}

  def fill_in(self, task: ImageTask) -> 'Task':
    """Returns it with the settings that its images decide on.

    Args:
      task: The task that it creates.
    """
    del task  # Most have no such settings.
    return self

  @abc.abstractmethod
  def create(self) -> ImageTask:
    """Creates the task.

    Raises:
      settings.SettingError: If its settings do not make one.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenTask(settings.Settings):
  """The task."""

  task: Task = settings.choice({}, None, 'The task.')


def load(part: Task, task: ImageTask) -> TaskData:
  """Loads a task's images.

  Args:
    part: The settings.
    task: The task that they make.

  Raises:
    settings.SettingError: If the images cannot be had.
  """
  with _blame_data_dir(part):
    return task.load()


def load_test(part: Task, task: ImageTask) -> sources.LabeledImages:
  """Loads a task's test images, as `load`."""
  with _blame_data_dir(part):
    return task.load_test_images()


def _blame_data_dir(part: Task) -> contextlib.AbstractContextManager[None]:
  return settings.blame(
    'data_dir',
    settings.as_dict(part).get('data_dir'),
    sources.DataNotFoundError,
  )


class WeakThenStrong(NamedTuple):
  """The usual strong view (C.3): `strong` of a fresh `weak` view.

  Attributes:
    weak: The first augmentation.
    strong: The second.
  """

  weak: augmentation.Augmentation
  strong: augmentation.Augmentation

  def __call__(self, images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Makes the views, an `Augmentation`."""
    views = self.weak(images, random_seeds.fold_in(seed, 0))
    return self.strong(views, random_seeds.fold_in(seed, 1))


def weak_then_strong(
  weak: augmentation.Augmentation, strong: augmentation.Augmentation
) -> augmentation.Augmentation:
  """Returns `strong` of a fresh `weak` view, the usual strong view (C.3)."""
  return WeakThenStrong(weak, strong)
