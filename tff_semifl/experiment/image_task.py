# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Classification tasks: data, augmentations and defaults of other settings."""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import dataclasses
import types
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.models import pure_functions
from tff_semifl.randomness import random_draws
from tff_semifl.settings import references

# The name, in records, of tasks that Python programs make.
OWN_DATA = 'own_data'


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageTask:
  """A classification task, of images or of feature vectors.

  Attributes:
    image_shape: Height, width and channels; or the number of features, which
      marks a task of features (`sources.FEATURES`).
    class_names: A name for each class, in the order of the labels.
    pixel_mean: Mean of each channel over the training images, in 0..1; or of
      each feature.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1; or of
      each feature.
    load: Loads the data. Raises `data_errors.DataError` if the data are
      unavailable.
    load_test: (may_download=bool) -> the test images; raises as `load` does.
      None if loading all data is as fast.
    weak_augmentation: Small changes, for the server and for pseudo-labels.
    strong_augmentation: Large changes, for the training of clients.
    model_depth: Depth of the WideResNet.
    model_width: Width of the WideResNet.
    model_num_groups: Groups of the WideResNet; None for a number that suits the
      size of the images.
    num_labeled: Default number of labeled images at the server; None if the
      setting is required.
    images: For features that a frozen network computed, the task of the images;
      else None.
    data_description: A line that identifies data which may change under the
      same name. None for most tasks.
  """

  image_shape: tuple[int, ...]
  class_names: tuple[str, ...]
  pixel_mean: tuple[float, ...]
  pixel_standard_deviation: tuple[float, ...]
  load: Callable[[], sources.TaskData] = dataclasses.field(
    metadata=settings.TOLD_ELSEWHERE
  )
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  model_depth: int
  model_width: int
  model_num_groups: int | None = None
  num_labeled: int | None
  load_test: Callable[..., sources.LabeledImages] | None = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )
  images: 'ImageTask | None' = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )
  # Recorded in addition to the settings.
  data_description: str | None = dataclasses.field(
    default=None, metadata=settings.TOLD_ELSEWHERE
  )

  @property
  def outside(self) -> 'ImageTask':
    """The task of the exported model's inputs: `images` if set, else self."""
    return self.images or self

  @property
  def num_classes(self) -> int:
    return len(self.class_names)

  def load_test_images(
    self, *, may_download: bool = True
  ) -> sources.LabeledImages:
    """Loads the test images, if possible without loading other images.

    Raises a `data_errors.DataError` if the images are unavailable.
    """
    if self.load_test is None:
      return self.load().test
    return self.load_test(may_download=may_download)


class Task(settings.Settings, abc.ABC):
  """Base class of tasks: the settings that create an `ImageTask`.

  Attributes:
    short_name: The name of this class in `TASKS`; not inherited by subclasses.
    gives_shares: Whether the task defines the partition among clients.
    told_by_data: Names of settings that may change when a run is resumed,
      because `ImageTask.data_description` identifies the data.
    strong_augmentation: Name of the default strong augmentation, if the name is
      recorded; None for most tasks.
    sites: Names of the sites that hold the images of clients; empty if this
      machine has all images.
    place: The part of an experiment's default name that identifies the data.
    usual: Default values of other settings, by name, that suit the task.
    quick: Settings of `launch.demo` for a result within minutes, by name.
  """

  short_name: ClassVar[str | None] = None
  gives_shares: ClassVar[bool] = False
  told_by_data: ClassVar[tuple[str, ...]] = ()
  strong_augmentation: ClassVar[str | None] = None
  sites: ClassVar[tuple[str, ...]] = ()
  place: ClassVar[str] = ''
  usual: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})
  quick: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})

  @property
  def reference(self) -> str:
    """The name in records: the short name, or the name of the class."""
    short_name = vars(type(self)).get('short_name')
    return short_name or settings.qualified_name(type(self))

  def fill_in(self, task: ImageTask) -> 'Task':
    """Fills in the settings that depend on the images of the created task."""
    del task  # Most tasks have no such settings.
    return self

  @abc.abstractmethod
  def create(self) -> ImageTask:
    """Creates the task; raises a SettingError if settings are unusable."""


def load(part: Task, task: ImageTask) -> sources.TaskData:
  """Loads a task's images; errors name a setting of `part`."""
  with blame_data(part, 'data_dir'):
    return task.load()


def load_test(part: Task, task: ImageTask) -> sources.LabeledImages:
  """Loads a task's test images; see `load`."""
  with blame_data(part, 'data_dir'):
    return task.load_test_images()


@contextlib.contextmanager
def blame_data(part: settings.Settings, name: str) -> Iterator[None]:
  """Turns a `DataError` into a SettingError: of its setting, or else `name`."""
  try:
    yield
  except data_errors.DataError as error:
    name = error.setting or name
    value = settings.as_dict(part).get(name)
    raise settings.SettingError(name, value, str(error)) from error


class WeakThenStrong(NamedTuple):
  """A strong augmentation: first `weak`, then `strong`."""

  weak: augmentation.Augmentation
  strong: augmentation.Augmentation

  def __call__(self, images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    augmented = self.weak(images, random_draws.fold_in(seed, 0))
    return self.strong(augmented, random_draws.fold_in(seed, 1))


weak_then_strong = WeakThenStrong

# Builders of strong augmentations, applied after weak augmentation.
AUGMENTATIONS = references.Options(
  'tff_semifl.augment',
  {
    'fedmatch': 'fedmatch_policy:build_fedmatch_rand_augment',
    'fixmatch': 'fixmatch_policy:build_fixmatch_rand_augment',
    'fixmatch_pytorch': 'fixmatch_policy:build_fixmatch_pytorch_rand_augment',
    'keras_cv_gentle': 'keras_cv_policy:build_gentle_rand_augment',
    'semifl': 'semifl_policy:build_semifl_rand_augment',
  },
)


def _load_augmentation(reference: str) -> augmentation.Augmentation:
  found = references.load(reference)
  references.check_callable(found, 'images', 'seed')
  return found


def _check_shape(augment: Callable[..., Any], shape: Sequence[int]) -> None:
  """Raises a ValueError if `augment` fails in a graph or changes the shape."""

  def apply(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(augment(images, seed), images.shape)

  images = tf.TensorSpec([None, *shape], sources.kind_of(shape).dtype)
  try:
    tf.function(pure_functions.as_it_is(apply)).get_concrete_function(
      images, tf.TensorSpec([2], tf.int32)
    )
  except Exception as error:
    # AutoGraph puts a traceback before the message.
    *_, reason = (str(error).strip() or repr(error)).splitlines()
    raise ValueError(
      f'must return images of shape {images.shape}, by TensorFlow; found'
      f' {reason.strip()}'
    ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class StrongAugmentation(settings.Settings):
  """The choice of the strong augmentation."""

  strong_augmentation: str | None = settings.setting(
    None,
    "RandAugment of SemiFL's code, of FixMatch, of its PyTorch version, of"
    " FedMatch, or of KerasCV at a low magnitude. By default SemiFL's, which"
    ' leaves one image in seven blank; keras_cv_gentle for digits and'
    ' image_folder, and fixmatch_pytorch for emnist.',
    settings.one_of_or_outside(AUGMENTATIONS, _load_augmentation),
  )

  def apply(self, task: ImageTask) -> ImageTask:
    name = self.strong_augmentation
    if name is None:
      return task
    kind = sources.kind_of(task.image_shape)
    if name not in AUGMENTATIONS:
      strong = _load_augmentation(name)
      with settings.blame('strong_augmentation', name):
        _check_shape(strong, task.image_shape)
    elif kind is sources.IMAGES:
      strong = AUGMENTATIONS[name]()
    else:
      raise settings.SettingError(
        'strong_augmentation',
        name,
        f'is of images, but the task has {kind.name}, which are given noise;'
        ' leave it out',
      )
    return dataclasses.replace(
      task, strong_augmentation=WeakThenStrong(task.weak_augmentation, strong)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeakAugmentation(settings.Settings):
  """Whether the task's weak augmentation is applied."""

  weak_augmentation: str | None = settings.setting(
    None,
    'Weak augmentation, alone and before strong augmentation; none turns it'
    " off. By default the task's: random shifts and, if mirror images have the"
    ' same class, flips.',
    settings.one_of('none'),
  )

  def apply(self, task: ImageTask) -> ImageTask:
    if self.weak_augmentation is None:
      return task
    strong = task.strong_augmentation
    if isinstance(strong, WeakThenStrong):
      strong = strong._replace(weak=augmentation.keep)
    return dataclasses.replace(
      task, weak_augmentation=augmentation.keep, strong_augmentation=strong
    )
