# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL: Semi-Supervised Federated Learning with alternate training.

Diao, Ding, Tarokh. SemiFL: Semi-Supervised Federated Learning for Unlabeled
Clients with Alternate Training. NeurIPS 2022. https://arxiv.org/abs/2106.01432
"""

import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import fix_mix_training


def build_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  mixup_concentration: float = 0.75,
  mix_loss_weight: float = 1.0,
  soft_labels: bool = False,
  mix_once_per_round: bool = False,
  mix_before_augmentation: bool = False,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds SemiFL, Algorithm 1 of the paper, as an iterative process.

  It is alternate training (`compose_alternating_process`) in which clients
  label their images once, with the model that they receive, and train on those
  they are sure of, as they are and mixed with others.

  Args:
    classifier: The model.
    hyperparameters: The numbers.
    weak_augmentation: (uint8 images, stateless seed) -> uint8 images; for the
      server, for pseudo-labels and for mixing.
    strong_augmentation: Likewise, for the fix loss.
    mixup_concentration: a, of Beta(a, a).
    mix_loss_weight: lambda; 0 leaves out mixup.
    soft_labels: Train on probabilities, not on the most probable class (D12).
    mix_once_per_round: Draw the images to mix with once, not each epoch (D13).
    mix_before_augmentation: Augment mixtures, not what is mixed (D14).
    aggregator: By default the uniform mean of the clients that count (A.12).
  """
  return alternating.compose_alternating_process(
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
        mixup_concentration=mixup_concentration,
        mix_loss_weight=mix_loss_weight,
        soft_labels=soft_labels,
        mix_once_per_round=mix_once_per_round,
        mix_before_augmentation=mix_before_augmentation,
      ),
      hyperparameters,
      weak_augmentation=weak_augmentation,
      aggregator=aggregator,
    )
  )
