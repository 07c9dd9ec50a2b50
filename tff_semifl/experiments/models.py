# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The models that can be trained, as parts with settings."""

import abc
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any, ClassVar

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import example_kinds
from tff_semifl.experiments import image_task
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import emnist_cnn
from tff_semifl.models import features
from tff_semifl.models import fedmatch_resnet
from tff_semifl.models import fixmatch_wide_resnet
from tff_semifl.models import keras_conversion
from tff_semifl.models import residual
from tff_semifl.models import resnet
from tff_semifl.models import wide_resnet

_NORMALIZATIONS = {
  'group': residual.create_group_norm,
  'static_batch': residual.create_static_batch_norm,
}
_BATCH_NORM_REPLACEMENTS = {
  'group': keras_conversion.to_group_norm,
  'static_batch': keras_conversion.to_static_batch_norm,
}


class Model(settings.Settings, abc.ABC):
  """Base of the models.

  Attributes:
    has_static_batch_norm: Whether the model has static batch normalization;
      None if only the model itself shows it.
    takes: The kinds of examples that the model is made for.
    trained: The name of the model that is trained, where it is a part of this
      one; None if all of it is.
    may_change: Names of its settings that may change when a run is resumed.
  """

  has_static_batch_norm: ClassVar[bool | None] = False
  takes: ClassVar[tuple[example_kinds.ExampleKind, ...]] = (
    example_kinds.IMAGES,
  )
  trained: ClassVar[str | None] = None
  may_change: ClassVar[tuple[str, ...]] = ()

  @property
  def usual(self) -> Mapping[str, Any]:
    """Values of settings by name that suit the model, where none is chosen."""
    return {}

  def create_task(self, part: image_task.Task) -> image_task.ImageTask:
    """Creates a task in the form in which the model is trained on it."""
    return part.create()

  def for_plan(self) -> 'Model':
    """The model whose `create_task` takes no minutes, for a plan."""
    return self

  def to_export(
    self, model: tf.keras.Model, task: image_task.ImageTask
  ) -> tf.keras.Model:
    """The model to export, of the trained one."""
    del task  # Most are what was trained.
    return model

  def check_takes(self, task: image_task.ImageTask) -> None:
    """Checks that the model is made for a task's kind of examples."""
    kind = example_kinds.kind_of(task.image_shape)
    if kind not in self.takes:
      raise ValueError(
        f'takes {self.takes[0].name}, but the task has {kind.name}; choose'
        ' linear, or a model of your own'
      )

  @abc.abstractmethod
  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task.

    Args:
      seed: The seed of the initial weights.
    """

  def create_to_assign(self, task: image_task.ImageTask) -> tf.keras.Model:
    """Creates the model for weights that are assigned afterwards."""
    return self.create(task, seed=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Normalized(Model):
  normalization: str = settings.setting(
    'static_batch',
    "SemiFL's static batch normalization, or group normalization, which needs"
    ' no statistics of batches.',
    settings.one_of(*sorted(_NORMALIZATIONS)),
  )

  @property
  def has_static_batch_norm(self) -> bool | None:
    """Whether static batch normalization is chosen."""
    return self.normalization == 'static_batch'

  @property
  def create_normalization(self) -> residual.Normalization:
    """The function that creates a normalization layer."""
    return _NORMALIZATIONS[self.normalization]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WideResNet(_Normalized):
  """SemiFL's WideResNet."""

  create_convolution: ClassVar[residual.Convolution] = staticmethod(
    residual.create_plain_convolution
  )

  model_depth: int | None = settings.setting(
    None,
    'Depth of the model. By default that of the task: 7 for digits and 28 for'
    ' cifar10, say.',
    settings.AT_LEAST_1,
  )
  model_width: int | None = settings.setting(
    None,
    'Width of the model. By default that of the task: 2, but 8 for cifar100.',
    settings.AT_LEAST_1,
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    depth = self.model_depth or task.model_depth
    with settings.blame('model_depth', depth):
      return _create(
        wide_resnet.create_wide_resnet,
        task,
        seed,
        depth=depth,
        width=self.model_width or task.model_width,
        num_groups=task.model_num_groups,
        create_normalization=self.create_normalization,
        create_convolution=self.create_convolution,
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecomposedWideResNet(WideResNet):
  """A WideResNet whose kernels have two parts, for FedMatch."""

  create_convolution = staticmethod(
    decomposed_convolution.create_decomposed_convolution
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixMatchWideResNet(WideResNet):
  """FixMatch's WideResNet."""

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    with settings.blame('model_depth', self.model_depth):
      return fixmatch_wide_resnet.create_fixmatch_wide_resnet(
        task.image_shape,
        task.num_classes,
        depth=self.model_depth or task.model_depth,
        width=self.model_width or task.model_width,
        num_groups=task.model_num_groups,
        create_normalization=self.create_normalization,
        seed=seed,
      )

  @property
  def create_normalization(self) -> residual.Normalization:
    """Creates a normalization layer."""
    if self.normalization == 'static_batch':
      return fixmatch_wide_resnet.create_static_batch_norm
    return super().create_normalization


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResNet(_Normalized):
  """The ResNet in the code of SemiFL's authors."""

  model_depth: int = settings.setting(
    9, 'Depth of the model, 9 or 18.', settings.AT_LEAST_1
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    with settings.blame('model_depth', self.model_depth):
      return _create(
        resnet.create_resnet,
        task,
        seed,
        depth=self.model_depth,
        create_normalization=self.create_normalization,
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PostActivationResNet(_Normalized):
  """The ResNet-18 of Zhang et al."""

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    return _create(
      resnet.create_post_activation_resnet,
      task,
      seed,
      create_normalization=self.create_normalization,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchResNet(Model):
  """FedMatch's own ResNet-9, whose kernels have two parts."""

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    return fedmatch_resnet.create_fedmatch_resnet(
      task.image_shape, task.num_classes, seed=seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMNISTCNN(Model):
  """The small CNN of Zhang et al. for EMNIST."""

  build: ClassVar[Callable[..., tf.keras.Model]] = staticmethod(
    emnist_cnn.create_emnist_cnn
  )

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task."""
    return _create(self.build, task, seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReddiEMNISTCNN(EMNISTCNN):
  """The CNN of Reddi et al. for EMNIST, which Zhang et al. describe."""

  build = staticmethod(emnist_cnn.create_reddi_emnist_cnn)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linear(Model):
  """One dense layer on standardized features or pixels."""

  takes = (example_kinds.FEATURES, example_kinds.IMAGES)

  def create(self, task: image_task.ImageTask, seed: int) -> tf.keras.Model:
    """Creates the model for a task; initial weights are zero."""
    del seed  # Nothing is drawn.
    unit = example_kinds.kind_of(task.image_shape).unit
    return features.create_linear(
      task.image_shape,
      task.num_classes,
      mean=[unit * mean for mean in task.pixel_mean],
      standard_deviation=[unit * s for s in task.pixel_standard_deviation],
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Converted(_Normalized):
  """Base of the Keras models that are converted to pure layers."""

  @property
  def replace_batch_norm(self) -> keras_conversion.BatchNormReplacement:
    """The conversion of Keras' batch normalization layers."""
    return _BATCH_NORM_REPLACEMENTS[self.normalization]


MODELS = {
  'wide_resnet': WideResNet(),
  'decomposed_wide_resnet': DecomposedWideResNet(),
  'fixmatch_wide_resnet': FixMatchWideResNet(),
  'resnet': ResNet(),
  'post_activation_resnet': PostActivationResNet(),
  'emnist_cnn': EMNISTCNN(),
  'reddi_emnist_cnn': ReddiEMNISTCNN(),
  'fedmatch_resnet': FedMatchResNet(),
  'linear': Linear(),
}


def _create(
  create: Callable[..., tf.keras.Model],
  task: image_task.ImageTask,
  seed: int,
  **of_model: Any,
) -> tf.keras.Model:
  return create(
    task.image_shape,
    task.num_classes,
    pixel_mean=task.pixel_mean,
    pixel_standard_deviation=task.pixel_standard_deviation,
    seed=seed,
    **of_model,
  )
