# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated averaging of clients that have labels, an upper bound (D.7)."""

from collections.abc import Sequence
import dataclasses

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import averaging
from tff_semifl.systems import client_training
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import client_work
from tff_semifl.work import labeled_client_training


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOnLabels(client_training.ClientTraining):
  """Trains on true labels, as HeteroFL's clients do (D.7, D53)."""

  heeds_padding = True
  measures_pseudo_labels = False

  mask_absent_classes: bool = settings.setting(
    False,
    'Whether logits of classes that a client has no image of are 0 in its loss,'
    ' as in HeteroFL. Rows of the classifier are averaged over all clients in'
    ' any case (D53).',
  )

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow."""
    return labeled_client_training.build_labeled_client_training(
      ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      optimizer=optimizer,
      num_epochs=turn.client_epochs,
      batch_size=turn.client_batch_size,
      mask_absent_classes=self.mask_absent_classes,
      form=ingredients.turn_form,
    )

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType | None:
    """Returns the type of a client's data: images with labels."""
    return pipelines.labeled_client_type(classifier.image_shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Supervised(averaging.Averaging):
  """Federated averaging of clients that have labels, an upper bound (D.7).

  The server has no image and takes no step.
  """

  labels = system.Labels.AT_CLIENTS
  uses_strong_views = False

  client: TrainOnLabels = TrainOnLabels()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return alternating.compose_alternating_process(
      self.build_parts(
        dataclasses.replace(ingredients, computes_statistics=False),
        training_settings.ServerTurn(server_epochs=0.0, server_batch_size=1),
      )
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round."""
    del num_labeled  # There are none.
    return system.Steps(0, self.client_turn.count_steps(client_sizes))
