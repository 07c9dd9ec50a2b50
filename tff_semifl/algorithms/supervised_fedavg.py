# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated averaging with labels at the clients: HeteroFL (D.7, D53)."""

import dataclasses

import tensorflow_federated as tff

from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import labelled_client_training


def build_supervised_fedavg(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  mask_absent_classes: bool = False,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds what SemiFL's Table 1 calls HeteroFL: an upper bound.

  Clients train on true labels; their uniform mean, with momentum, is the new
  model. Models are of one width, so that it is federated averaging with static
  batch normalisation (D53). The server has no data: it takes no step, and the
  statistics are whoever's computes them between rounds.

  Args:
    classifier: The model.
    hyperparameters: The numbers; those of the server are of no use.
    weak_augmentation: For the clients' images.
    mask_absent_classes: Whether logits of classes that a client has no image of
      are 0 in its loss, as in HeteroFL proper. Rows of the classifier are
      averaged over all clients in any case.
    aggregator: By default the uniform mean of the clients that have images.
  """
  return alternating.compose_alternating_process(
    training_parts.build_training_parts(
      classifier,
      labelled_client_training.build_labelled_client_training(
        classifier,
        weak_augmentation=weak_augmentation,
        optimizer=hyperparameters.optimizer,
        num_epochs=hyperparameters.client_epochs,
        batch_size=hyperparameters.client_batch_size,
        mask_absent_classes=mask_absent_classes,
      ),
      dataclasses.replace(
        hyperparameters, server_epochs=0, server_statistics=False
      ),
      weak_augmentation=weak_augmentation,
      aggregator=aggregator,
      client_data_type=pipelines.labelled_client_type(classifier.image_shape),
    )
  )
