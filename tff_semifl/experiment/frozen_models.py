# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A linear layer on the features of a frozen pretrained network.

Features are computed once, before training; only the layer is trained and sent.
The exported model joins network and layer, from pixels to logits. The modules
of networks and features are imported only when a frozen model is used.
"""

from collections.abc import Mapping
import dataclasses
import functools
import pathlib
import typing
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import own_images
from tff_semifl.data import sources
from tff_semifl.experiment import chosen_models
from tff_semifl.experiment import image_task
from tff_semifl.experiment import loaded_task
from tff_semifl.experiment import progress
from tff_semifl.files import durable_files

if typing.TYPE_CHECKING:
  from tff_semifl.experiment import federated_data
  from tff_semifl.models.frozen import backbone as backbone_lib

PREFIX = 'frozen:'
_DEFAULT = f'{PREFIX}efficientnet_lite0'
_say_once = functools.cache(progress.say)


def join(
  backbone: 'backbone_lib.Backbone',
  kernel: np.ndarray,
  bias: np.ndarray,
  image_shape: tuple[int, int, int] | None = None,
) -> tf.keras.Model:
  """Joins preparation, backbone and linear head to a model for exports.

  The model maps float32 [batch, *image_shape] in 0..255 to logits. The kernel
  is float [feature_dimension, classes].
  """
  inputs = tf.keras.Input(image_shape or (*backbone.image_size, 3))
  prepared = tf.keras.layers.Lambda(backbone.preparation)(inputs)
  features = backbone.network(prepared, training=False)
  head = tf.keras.layers.Dense(len(bias), name='head')
  model = tf.keras.Model(
    inputs, head(features), name='frozen_backbone_with_head'
  )
  head.set_weights([kernel, bias])
  return model


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frozen(chosen_models.Linear):
  """A linear layer on the features of a pretrained network.

  `reference` is `PREFIX` and the name of the network, see `backbones.load`.
  """

  trained = 'linear'
  may_change = ('feature_cache',)

  reference: str
  backbone_size: int | None = settings.setting(
    None,
    "Height and width of the network's input in pixels, to which images are"
    ' resized. By default 224, or the input size of the .keras file. Time grows'
    ' with the number of pixels.',
    settings.at_least(32),
  )
  feature_cache: str | None = settings.setting(
    None,
    'Cache of features, by images, weights and preparation. By default'
    ' $XDG_CACHE_HOME/tff_semifl/features or ~/.cache/tff_semifl/features.',
  )

  @property
  def usual(self) -> Mapping[str, Any]:
    """The default image size: the input size of the network."""
    height, width = self.input_size
    return {'image_size': f'{height}x{width}'}

  @property
  def input_size(self) -> tuple[int, int]:
    """Height and width of the network's input."""
    return self._load().image_size

  def create_task(self, part: image_task.Task) -> image_task.ImageTask:
    """Creates a task whose inputs are features of the images of `part`."""
    backbone = self._load()
    with settings.blame('model', self.reference):
      if part.sites:
        raise ValueError(
          'computes the features of all images here, but those of sites stay'
          ' there; choose another model'
        )
      images = part.create()
      kind = sources.kind_of(images.image_shape)
      if kind is not sources.IMAGES:
        raise ValueError(
          f'takes images, but the task has {kind.name}; choose linear'
        )
    data = image_task.load(part, images)
    with settings.blame('model', self.reference):
      task = loaded_task.create_feature_task(
        self.compute_all(data), images.class_names
      )
    return dataclasses.replace(
      task,
      num_labeled=images.num_labeled,
      images=images,
      data_description=(
        f'features by {backbone.name}, SHA-256 {backbone.digest[:16]}, of'
        f' {images.data_description or part.reference}'
      ),
    )

  def to_export(
    self, model: tf.keras.Model, task: image_task.ImageTask
  ) -> tf.keras.Model:
    """Joins network and trained layer to a model from pixels to logits."""
    kernel, bias = (each.astype(np.float64) for each in model.get_weights())
    deviation = np.array(task.pixel_standard_deviation)
    kernel /= deviation[:, np.newaxis]
    bias -= np.array(task.pixel_mean) @ kernel
    return join(self._load(), kernel, bias, task.images.image_shape)

  def _load(self) -> 'backbone_lib.Backbone':
    with settings.blame('model', self.reference):
      return _load(self.reference, self.backbone_size)

  def compute_all(self, data: sources.TaskData) -> sources.TaskData:
    """Replaces the images of the data by their features."""
    # Unless clients have their own images, most training images lose their
    # labels here.
    name = 'training' if data.unlabeled is None else 'labeled'
    train = self.compute_features(name, data.train.images)
    own_images.check_server_features(f'features of {name} images', train)
    test = self.compute_features('test', data.test.images)
    unlabeled = data.unlabeled
    if unlabeled is not None:
      unlabeled = self.compute_features("clients'", unlabeled)
    return data._replace(
      train=data.train._replace(images=train),
      test=data.test._replace(images=test),
      unlabeled=unlabeled,
    )

  def compute_features(self, name: str, images: sources.Images) -> np.ndarray:
    """Features, float32 [images, features], read from the cache if present.

    `name` names the images in messages.
    """
    from tff_semifl.models.frozen import feature_cache

    backbone = self._load()
    if not len(images):
      return np.empty([0, backbone.feature_dimension], np.float32)

    def say(line: str) -> None:
      _say_once(line.replace('features:', f'features of {name} images:', 1))

    folder = feature_cache.default_folder()
    if self.feature_cache is not None:
      folder = pathlib.Path(self.feature_cache)
    with settings.blame(
      'feature_cache', self.feature_cache, durable_files.OutputError
    ):
      found = feature_cache.compute(
        backbone, images, folder, say, quiet=progress.is_quiet()
      )
    return own_images.convert_features(f'features of {name} images', found)


MODELS = {_DEFAULT: Frozen(reference=_DEFAULT)}


class ImageFeatures(NamedTuple):
  """The features of images, float32 [images, features]."""

  labeled: np.ndarray
  unlabeled: np.ndarray


def load(reference: str) -> Frozen:
  """The model 'frozen:NAME'; its network is loaded when first needed."""
  if not reference.startswith(PREFIX):
    raise ValueError(f'must be {PREFIX}NAME, such as {_DEFAULT}')
  return Frozen(reference=reference)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelFeatures(settings.Settings):
  """The choice of pixels or features by which `client_priors` labels images."""

  label_features: Frozen | None = settings.choice(
    {'pixels': None} | MODELS,
    'pixels',
    'What client priors label by: pixels, or features of a pretrained network,'
    f' such as {_DEFAULT}, which a client computes once.',
    load=load,
  )

  def compute(
    self, data: 'federated_data.FederatedData'
  ) -> ImageFeatures | None:
    """The features of the images of server and clients; None for pixels."""
    frozen = self.label_features
    if frozen is None:
      return None
    with settings.blame('label_features', frozen.reference):
      _load(frozen.reference, frozen.backbone_size)
    return ImageFeatures(
      frozen.compute_features('labeled', data.labeled.images),
      frozen.compute_features("clients'", data.unlabeled.images),
    )


# Cached, because loading takes seconds and is repeated.
@functools.cache
def _load(reference: str, size: int | None) -> 'backbone_lib.Backbone':
  from tff_semifl.models.frozen import backbones

  return backbones.load(reference.removeprefix(PREFIX), size and (size, size))
