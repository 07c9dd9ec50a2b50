# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated averaging of clients with labels, and data sharing.

Federated averaging with labels is the usual upper bound of the accuracy without
labels at clients. In data sharing, a server with a few labels of all classes
pretrains the model, and clients train on some of its images and on their own.

References:
  Zhao, Li, Lai, Suda, Civin, Chandra. Federated learning with non-IID data.
  2018.
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.data import pipelines
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOnLabels(method.Method):
  """Trains on the client's images that have true labels."""

  clients_have_labels = True
  labels_are_true = True

  def label(
    self, client: hook_arguments.ClientContext, state: Any
  ) -> tuple[tf.Tensor, tf.Tensor]:
    del state
    labels = client.true_labels
    # Images that are not selected may become padding, which needs a label.
    return tf.maximum(labels, 0), tf.greater_equal(labels, 0)

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    del state
    return step.cross_entropy(step.logits(step.weak))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Supervised(averaging.Averaging):
  """Federated averaging of clients with labels; the server takes no step."""

  labels = system.Labels.AT_CLIENTS
  uses_strong_views = False

  client: TrainOnLabels = TrainOnLabels()


# The usual lower bound: clients without labels do not train.
LABELED_CLIENTS_ALONE = averaging.LabeledClients(client=TrainOnLabels())


def count_shared(num_images: int | tf.Tensor, fraction: float) -> tf.Tensor:
  """The number of images that the server sends, rounded, an int32 scalar."""
  share = fraction * tf.cast(num_images, tf.float64)
  return tf.cast(tf.math.round(share), tf.int32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOnSharedLabels(TrainOnLabels):
  """Trains on true labels of the client's images and of the server's images."""

  shared_fraction: float = settings.setting(
    0.5,
    "Fraction of the server's labeled images that all clients receive; 0 is"
    ' federated averaging.',
    settings.FRACTION,
  )

  def select_data(
    self, data: Mapping[str, tf.Tensor], guidance: Mapping[str, tf.Tensor]
  ) -> Mapping[str, tf.Tensor]:
    """The client's images and the shared images, with labels."""
    both = {
      name: tf.concat([data[name], guidance[name]], axis=0)
      for name in ('image', 'label')
    }
    return {**data, **both}

  def tell(
    self, kept: tuple[()], server: hook_arguments.Server
  ) -> dict[str, tf.Tensor]:
    del kept
    data = pipelines.concatenate_chunks(server.data)
    num_images = tf.shape(data['label'])[0]
    # The server's images may be sorted by class.
    order = tf.random.experimental.stateless_shuffle(
      tf.range(num_images),
      random_seeds.stateless_seed(
        server.seed, random_seeds.Purpose.SHARED_IMAGE
      ),
    )
    chosen = order[: count_shared(num_images, self.shared_fraction)]
    return {name: tf.gather(data[name], chosen) for name in ('image', 'label')}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSharing(averaging.Averaging):
  """Federated averaging of labeled clients that also train on server images."""

  labels = system.Labels.AT_SERVER_AND_CLIENTS
  uses_strong_views = False

  client: TrainOnSharedLabels = TrainOnSharedLabels()
  server: training_settings.PretrainedBatches = (
    training_settings.PretrainedBatches(server_pretraining_epochs=5.0)
  )

  @property
  def server_training(self) -> training_settings.ServerTraining:
    return training_settings.ServerTraining(
      **settings.as_dict(self.server), server_epochs=0.0
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    num_shared = int(count_shared(num_labeled, self.client.shared_fraction))
    return system.Steps(
      0,
      self.local_training.count_steps(
        [size + num_shared for size in client_sizes]
      ),
    )
