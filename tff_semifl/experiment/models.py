# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The base class of models, and this package's networks with settings."""

import abc
from collections.abc import Mapping
import dataclasses
import types
from typing import Any, ClassVar

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.models import keras_conversion
from tff_semifl.models import zhang2020_networks
from tff_semifl.settings import references

# The functions of networks in `tff_semifl.models`, imported when needed.
_FUNCTIONS = references.Options(
  f'{__name__.partition(".")[0]}.models',
  {
    'wide_resnet': 'wide_resnet:create_wide_resnet',
    'decomposed_wide_resnet': (
      'fedmatch_networks:create_decomposed_wide_resnet'
    ),
    'fixmatch_wide_resnet': 'fixmatch_wide_resnet:create',
    'post_activation_resnet': (
      'zhang2020_networks:create_post_activation_resnet'
    ),
    'emnist_cnn': 'zhang2020_networks:create_emnist_cnn',
    'reddi_emnist_cnn': 'zhang2020_networks:create_reddi_emnist_cnn',
    'fedmatch_resnet': 'fedmatch_networks:create_fedmatch_resnet',
  },
)
_WITHOUT_PIXEL_STATISTICS = ('fixmatch_wide_resnet', 'fedmatch_resnet')


class Model(settings.Settings, abc.ABC):
  """Base class of models.

  Attributes:
    has_static_batch_norm: Whether the model has static batch normalization;
      None if only the created model shows it.
    takes: The kinds of examples that the model takes.
    trained: The name of the trained part; None for the whole model.
    may_change: Names of settings that may change when a run is resumed.
    usual: Default values of settings, by name, that suit the model.
  """

  has_static_batch_norm: ClassVar[bool | None] = False
  takes: ClassVar[tuple[sources.ExampleKind, ...]] = (sources.IMAGES,)
  trained: ClassVar[str | None] = None
  may_change: ClassVar[tuple[str, ...]] = ()
  usual: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})

  def create_task(self, part: image_task.Task) -> image_task.ImageTask:
    """Creates the task for the model's training, of images or features."""
    return part.create()

  def to_export(
    self, model: tf.keras.Model, task: image_task.ImageTask
  ) -> tf.keras.Model:
    """The model to export; by default the trained model itself."""
    del task  # Most models are exported as trained.
    return model

  def check_takes(self, task: image_task.ImageTask) -> None:
    """Checks that the model takes the examples of a task."""
    kind = sources.kind_of(task.image_shape)
    if kind not in self.takes:
      raise ValueError(
        f'takes {self.takes[0].name}, but the task has {kind.name}; choose'
        ' linear, or a model of your own'
      )

  @abc.abstractmethod
  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task, with initial weights drawn from a seed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Network(Model):
  """The network of this package that has the name `reference`."""

  reference: str

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    arguments = {'seed': seed, **self.find_arguments(task)}
    if self.reference not in _WITHOUT_PIXEL_STATISTICS:
      arguments['pixel_mean'] = task.pixel_mean
      arguments['pixel_standard_deviation'] = task.pixel_standard_deviation
    return _FUNCTIONS[self.reference](
      task.image_shape, task.num_classes, **arguments
    )

  def find_arguments(self, task: image_task.ImageTask) -> dict[str, Any]:
    """The arguments of the network's function that depend on settings."""
    del task
    return {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Normalized(Model):
  """Base class of models with a choice of normalization."""

  normalization: str = settings.setting(
    'static_batch',
    "SemiFL's static batch normalization, or group normalization, which does"
    ' not use batch statistics.',
    settings.one_of('group', 'static_batch'),
  )

  @property
  def has_static_batch_norm(self) -> bool | None:
    return self.normalization == 'static_batch'


@dataclasses.dataclass(frozen=True, kw_only=True)
class NormalizedNetwork(Normalized, Network):
  """A network of this package with a choice of normalization."""

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    model = super().create(task, seed)
    if self.normalization == 'static_batch':
      return model
    return keras_conversion.convert(
      model, zhang2020_networks.to_group_norm, replaces_static=True
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WideResNet(NormalizedNetwork):
  """SemiFL's WideResNet, or a variant with the same settings."""

  reference: str = 'wide_resnet'
  model_depth: int | None = settings.setting(
    None,
    'Depth of the model. The default depends on the task, such as 7 for digits'
    ' and 28 for cifar10.',
    settings.AT_LEAST_1,
  )
  model_width: int | None = settings.setting(
    None,
    'Width of the model. The default depends on the task: 8 for cifar100,'
    ' otherwise 2.',
    settings.AT_LEAST_1,
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    with settings.blame('model_depth', self.model_depth or task.model_depth):
      return super().create(task, seed)

  def find_arguments(self, task: image_task.ImageTask) -> dict[str, Any]:
    return {
      'depth': self.model_depth or task.model_depth,
      'width': self.model_width or task.model_width,
      'num_groups': task.model_num_groups,
    }
