# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A federation of noise, of any size, and its round in plain TensorFlow."""

import collections
from collections.abc import Callable
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tasks import cifar10
from tff_semifl import schedules
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import semifl
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import fix_mix_training
from tff_semifl.work import round_context
from tff_semifl.work import supervised_training
from tff_semifl.work import training_loop


class Size(NamedTuple):
  """How large a federation is.

  Attributes:
    model_depth: Depth of the WideResNet.
    model_width: Its width.
    num_clients: Clients, all of which take part in each round.
    images_per_client: Images of each.
    num_labeled: Images of the server.
    num_epochs: Epochs of clients and server.
  """

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
      f' {self.num_labeled} labelled images, epochs: {self.num_epochs}'
    )


class Federation:
  """Images, a model, and SemiFL in both forms.

  Attributes:
    size: How large it is.
    classifier: The model.
    process: SemiFL as a TFF process.
  """

  def __init__(self, size: Size):
    """Makes the images and builds the process; nothing is compiled yet."""
    self.size = size
    self._task = cifar10.create_task()
    self.classifier = functional.from_keras(
      self._task.create_wide_resnet(size.model_depth, size.model_width, seed=0)
    )
    self._hyperparameters = hyperparameters_lib.Hyperparameters(
      total_rounds=1000,
      server_batch_size=250 if size.num_labeled > 250 else 10,
      client_epochs=size.num_epochs,
      server_epochs=size.num_epochs,
      # Every image is trained on, so that all rounds cost the same.
      confidence_threshold=1e-6,
    )
    self.process = semifl.build_semifl(
      self.classifier,
      self._hyperparameters,
      weak_augmentation=self._task.weak_augmentation,
      strong_augmentation=self._task.strong_augmentation,
    )
    self._server_images = _noise(0, size.num_labeled)
    self._server_labels = np.arange(size.num_labeled, dtype=np.int32) % 10
    self._client_images = np.split(
      _noise(1, size.num_clients * size.images_per_client), size.num_clients
    )

  def initial_state(self) -> Any:
    """Returns the process's state before round 1."""
    return self.process.initialize()._replace(round_num=np.int32(1))

  def server_data(self) -> tf.data.Dataset:
    """Returns the server's images as the process takes them."""
    return pipelines.labelled_dataset(
      sources.LabelledImages(self._server_images, self._server_labels)
    )

  def client_data(self) -> list[tf.data.Dataset]:
    """Returns the clients' images as the process takes them."""
    return [
      tf.data.Dataset.from_tensors(
        collections.OrderedDict(client_id=np.int32(client), image=images)
      )
      for client, images in enumerate(self._client_images)
    ]

  def build_plain_round(self) -> Callable[[Any], Any]:
    """Builds a round of plain TensorFlow functions: no TFF, no process.

    Returns:
      (weights, velocity, server's optimizer state) -> the same after round 1,
      by the arithmetic of the process.
    """
    numbers = self._hyperparameters
    shared = {
      'weak_augmentation': self._task.weak_augmentation,
      'optimizer': numbers.optimizer,
    }
    train_client = fix_mix_training.build_fix_mix_training(
      self.classifier,
      strong_augmentation=self._task.strong_augmentation,
      num_epochs=numbers.client_epochs,
      batch_size=numbers.client_batch_size,
      confidence_threshold=numbers.confidence_threshold,
      mixup_concentration=0.75,
      mix_loss_weight=1.0,
      **shared,
    )
    train_server = supervised_training.build_supervised_training(
      self.classifier,
      num_epochs=numbers.server_epochs,
      batch_size=numbers.server_batch_size,
      **shared,
    )
    context = round_context.RoundContext(
      tf.constant(numbers.seed),
      tf.constant(1),
      schedules.cosine_decay(
        1,
        initial_value=numbers.learning_rate,
        total_rounds=numbers.total_rounds,
      ),
    )

    def optimizer_state(weights: functional.ModelWeights) -> Any:
      state = training_loop.initial_optimizer_state(
        numbers.optimizer, weights.trainable
      )
      return numbers.optimizer.set_hparams(
        state, {'learning_rate': context.learning_rate}
      )

    @tf.function
    def client_turn(weights, client_id, images):
      local = train_client(
        weights,
        context,
        {'client_id': client_id, 'image': images},
        optimizer_state(weights),
      )
      return [
        old - new
        for old, new in zip(
          weights.trainable, local.training.trainable, strict=True
        )
      ]

    @tf.function
    def server_turn(weights, velocity, server_state, updates, images, labels):
      mean = [
        tf.add_n(parts) / len(updates) for parts in zip(*updates, strict=True)
      ]
      velocity = [
        numbers.global_momentum * v + g
        for v, g in zip(velocity, mean, strict=True)
      ]
      weights = functional.ModelWeights(
        tuple(w - v for w, v in zip(weights.trainable, velocity, strict=True)),
        weights.non_trainable,
      )
      result = train_server(
        weights, context, {'image': images, 'label': labels}, server_state
      )
      weights = functional.ModelWeights(result.trainable, weights.non_trainable)
      statistics = batch_norm_statistics.fold_batches(
        self.classifier,
        weights,
        tf.data.Dataset.from_tensors(images),
        batch_norm_statistics.merge_moments,
      )
      weights = batch_norm_statistics.replace_statistics(
        weights,
        tuple(map(batch_norm_statistics.unbiased_statistics, statistics)),
      )
      return weights, velocity, result.optimizer_state

    def plain_round(state):
      weights, velocity, server_state = state
      updates = [
        client_turn(weights, tf.constant(client), tf.constant(images))
        for client, images in enumerate(self._client_images)
      ]
      return server_turn(
        weights,
        velocity,
        server_state,
        updates,
        tf.constant(self._server_images),
        tf.constant(self._server_labels),
      )

    return plain_round

  def plain_state(self) -> Any:
    """Returns the state that `build_plain_round` starts from."""
    weights = tf.nest.map_structure(
      tf.constant, self.classifier.initial_weights
    )
    return (
      weights,
      [tf.zeros_like(array) for array in weights.trainable],
      training_loop.initial_optimizer_state(
        self._hyperparameters.optimizer, weights.trainable
      ),
    )


@functools.lru_cache
def _noise(seed: int, num_images: int) -> np.ndarray:
  return np.random.default_rng(seed).integers(
    256, size=(num_images, 32, 32, 3), dtype=np.uint8
  )
