# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL with labels made batch by batch, an ablation (Table 2, row 3; D.4).

Alternate training as in SemiFL, but each client labels its images as FixMatch
does: batch by batch, with the model that it is training at that moment.
"""

import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_label_training


def build_batch_label_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds it; arguments are those of `build_semifl`, there is no mixup."""
  return alternating.compose_alternating_process(
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
    )
  )
