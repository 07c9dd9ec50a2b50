# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated averaging of FixMatch: what SemiFL starts from (Table 2, D.3)."""

import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import parallel
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_label_training


def build_fedavg_fixmatch(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  server_share_fn: parallel.ServerShareFn = parallel.half,
  step_from_received_weights: bool = False,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds federated averaging of server and clients, as the code has it.

  Clients label each batch with the model that they train, as in
  `build_batch_label_training`; the server trains the same weights on its labels
  at the same time, and is averaged with them (`compose_parallel_process`).

  With `parallel.of_two_groups` it is FedRGD as it is called in SemiFL's tables
  (D.5, D38): the average of two groups of clients, each with the server.

  Args:
    classifier: The model.
    hyperparameters: The numbers.
    weak_augmentation: For the server's images and for pseudo-labels.
    strong_augmentation: For what clients train on.
    server_share_fn: Weight of the server in the average (D35).
    step_from_received_weights: As in `compose_parallel_process` (D35).
    aggregator: By default the uniform mean of the clients (D36).
  """
  return parallel.compose_parallel_process(
    training_parts.build_training_parts(
      classifier,
      batch_label_training.build_batch_label_training(
        classifier,
        weak_augmentation=weak_augmentation,
        strong_augmentation=strong_augmentation,
        optimizer=hyperparameters.optimizer,
        num_epochs=hyperparameters.client_epochs,
        batch_size=hyperparameters.client_batch_size,
        selection_fn=pseudo_labels.at_least(
          hyperparameters.confidence_threshold
        ),
      ),
      hyperparameters,
      weak_augmentation=weak_augmentation,
      aggregator=aggregator,
    ),
    server_share_fn=server_share_fn,
    step_from_received_weights=step_from_received_weights,
  )
