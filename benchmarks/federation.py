# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A federation of noise images, of any size."""

import collections
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tasks import cifar
from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiment import models
from tff_semifl.experiment import system_registry
from tff_semifl.models import functional


class Size(NamedTuple):
  """The size of a federation, in which all clients take part in each round."""

  model_depth: int = 28
  model_width: int = 2
  num_clients: int = 10
  images_per_client: int = 100
  num_labeled: int = 250
  num_epochs: int = 1

  def __str__(self) -> str:
    return (
      f'WideResNet-{self.model_depth}-{self.model_width}, {self.num_clients}'
      f' clients with {self.images_per_client} images of 32x32x3 each,'
      f' {self.num_labeled} labeled images, epochs: {self.num_epochs}'
    )


class Federation:
  """A SemiFL process, and noise images for its server and clients.

  Attributes:
    size: The size of the federation.
    task: The task with the augmentations.
    classifier: The model.
    system: SemiFL; all images are selected, so that all rounds cost the same.
    ingredients: The model and augmentations, for `system.build`.
    server_images: uint8 [number, 32, 32, 3].
    server_labels: int32 [number].
    client_images: For each client, uint8 [number, 32, 32, 3].
  """

  def __init__(self, size: Size, *, jit_compile: bool = False):
    """Creates images and model; nothing is compiled yet."""
    self.size = size
    self.task = cifar.CIFAR10().create()
    model = models.WideResNet(
      model_depth=size.model_depth, model_width=size.model_width
    )
    self.classifier = functional.from_keras(
      model.create(self.task, seed=0), jit_compile=jit_compile
    )
    self.system = settings.change(
      system_registry.SYSTEMS['semifl'],
      {
        'total_rounds': 1000,
        'clients_per_round': size.num_clients,
        'server_batch_size': 250 if size.num_labeled > 250 else 10,
        'client_epochs': size.num_epochs,
        'server_epochs': size.num_epochs,
        # Selects all images for training.
        'confidence_threshold': 1e-6,
      },
    )
    self.ingredients = system_lib.Ingredients(
      classifier=self.classifier,
      weak_augmentation=self.task.weak_augmentation,
      strong_augmentation=self.task.strong_augmentation,
      jit_compile=jit_compile,
    )
    self.server_images = _noise(0, size.num_labeled)
    self.server_labels = np.arange(size.num_labeled, dtype=np.int32) % 10
    self.client_images = np.split(
      _noise(1, size.num_clients * size.images_per_client), size.num_clients
    )

  @property
  def num_client_steps(self) -> int:
    """The number of steps of a client update on all images of a client."""
    batch_size = self.system.local_training.client_batch_size
    return -(-self.size.images_per_client // batch_size) * self.size.num_epochs

  @functools.cached_property
  def process(self) -> tff.templates.IterativeProcess:
    """SemiFL as a TFF process, which takes seconds to build."""
    return self.system.build(self.ingredients)

  def initial_state(self) -> Any:
    """The process's state before round 1."""
    return self.process.initialize()._replace(round_num=np.int32(1))

  def server_data(self) -> tf.data.Dataset:
    """The server's images, as an argument of the process."""
    return pipelines.labeled_dataset(
      sources.LabeledImages(self.server_images, self.server_labels)
    )

  def client_data(self) -> list[tf.data.Dataset]:
    """The clients' images, as an argument of the process."""
    return [
      tf.data.Dataset.from_tensors(
        collections.OrderedDict(client_id=np.int32(client), image=images)
      )
      for client, images in enumerate(self.client_images)
    ]


@functools.lru_cache
def _noise(seed: int, num_images: int) -> np.ndarray:
  return np.random.default_rng(seed).integers(
    256, size=(num_images, 32, 32, 3), dtype=np.uint8
  )
