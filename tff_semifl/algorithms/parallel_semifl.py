# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL without fine-tuning: labels by the global model, in parallel (D.4)."""

import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import parallel
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import fix_mix_training


def build_parallel_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  server_share_fn: parallel.ServerShareFn = parallel.half,
  step_from_received_weights: bool = False,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds the ablation of Table 2 in which nobody tunes the average.

  Clients label their images once, with the model that they receive, and train
  on those they are sure of, without mixup (D37); a client without any is not in
  the average. The server trains the same weights at the same time.

  Args:
    classifier: The model.
    hyperparameters: The numbers.
    weak_augmentation: For the server's images and for pseudo-labels.
    strong_augmentation: For what clients train on.
    server_share_fn: Weight of the server in the average (D35).
    step_from_received_weights: As in `compose_parallel_process` (D35).
    aggregator: By default the uniform mean of the clients that count.
  """
  return parallel.compose_parallel_process(
    training_parts.build_training_parts(
      classifier,
      fix_mix_training.build_fix_mix_training(
        classifier,
        weak_augmentation=weak_augmentation,
        strong_augmentation=strong_augmentation,
        optimizer=hyperparameters.optimizer,
        num_epochs=hyperparameters.client_epochs,
        batch_size=hyperparameters.client_batch_size,
        selection_fn=pseudo_labels.at_least(
          hyperparameters.confidence_threshold
        ),
        # Of no use without mixing.
        mixup_concentration=1.0,
        mix_loss_weight=0.0,
      ),
      hyperparameters,
      weak_augmentation=weak_augmentation,
      aggregator=aggregator,
    ),
    server_share_fn=server_share_fn,
    step_from_received_weights=step_from_received_weights,
  )
