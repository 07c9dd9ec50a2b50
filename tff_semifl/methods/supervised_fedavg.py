# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated averaging of clients with labels, an upper bound."""

from collections.abc import Sequence
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.systems import averaging
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOnLabels(method.Method):
  """Trains on the true labels of the client's images."""

  clients_have_labels = True
  labels_are_true = True

  mask_absent_classes: bool = settings.setting(
    False,
    'Whether logits of classes of which a client has no image are 0 in its'
    ' loss, as in HeteroFL. All rows of the classifier are averaged over all'
    ' clients in any case.',
  )

  def label(
    self, client: hook_arguments.ClientContext, state: Any
  ) -> tuple[tf.Tensor, tf.Tensor]:
    del state
    return client.true_labels, tf.ones_like(client.true_labels, tf.bool)

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    del state
    logits = step.logits(step.weak)
    if self.mask_absent_classes:
      logits = mask_absent(logits, step.client.true_labels)
    return step.cross_entropy(logits)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Supervised(averaging.Averaging):
  """Federated averaging of clients with labels, an upper bound.

  The server has no images and takes no step.
  """

  labels = system.Labels.AT_CLIENTS
  uses_strong_views = False

  client: TrainOnLabels = TrainOnLabels()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    return self.compose(
      dataclasses.replace(ingredients, computes_statistics=False),
      training_settings.ServerTraining(server_epochs=0.0, server_batch_size=1),
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del num_labeled
    return system.Steps(0, self.local_training.count_steps(client_sizes))


def mask_absent(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
  """Replaces the logits of classes without images by 0, without gradient.

  `logits` are float32 [batch, classes], `labels` int32 [images], of all images
  of the participant (Diao, Ding, Tarokh. HeteroFL: Computation and
  communication efficient federated learning for heterogeneous clients. ICLR
  2021).
  """
  is_present = tf.reduce_any(
    tf.equal(labels[:, tf.newaxis], tf.range(tf.shape(logits)[-1])), axis=0
  )
  return tf.where(is_present, logits, 0.0)
