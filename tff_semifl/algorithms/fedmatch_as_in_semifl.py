# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch as SemiFL's tables have it: disjoint learning alone (D.6, D40).

Of FedMatch (Jeong, Yoon, Yang, Hwang. ICLR 2021. https://arxiv.org/abs/
2006.12097) the authors of SemiFL took that server and clients train different
parts of each kernel. What clients say to each other, and what keeps the parts
sparse and close, is in `fedmatch`.
"""

import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl import pseudo_labels
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import functional
from tff_semifl.work import batch_label_training


def build_fedmatch_as_in_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  reproduce_bugs: bool = True,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds alternate training of two parts of each kernel, sigma and phi.

  Clients label each batch with the model that they train, as in
  `build_batch_label_training`, and train phi; the server trains sigma. What a
  side does not train stays as it came, and does not decay. Gradients are
  clipped by the norm of those of all weights, although gradients of sigma and
  of phi are the same, so that steps are shorter than with plain kernels. The
  finalizer's momentum is that of the mean of phi, as updates of sigma are zero.

  Args:
    classifier: The model, with kernels of two parts. Without such kernels it
      would be `build_batch_label_semifl`.
    hyperparameters: The numbers.
    weak_augmentation: For the server's images and for pseudo-labels.
    strong_augmentation: For what clients train on.
    reproduce_bugs: Whether, as in the authors' code, the server's gradients are
      zero for the second half of the outputs of each kernel, which only decays
      then, and nobody trains normalisation and classifier. If not, there is no
      such half, and both sides train normalisation and classifier, which are
      averaged as phi is (D41).
    aggregator: By default the uniform mean of the clients (D36).

  Raises:
    ValueError: If no kernel of the model has two parts.
  """
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  optimizer = hyperparameters.optimizer
  if reproduce_bugs:
    client_optimizer = optimizers.restrict(optimizer, parts.phi)
    server_optimizer = optimizers.restrict(
      optimizer, parts.sigma, optimizers.zero_second_half
    )
  else:
    client_optimizer = optimizers.restrict(
      optimizer, [not is_sigma for is_sigma in parts.sigma]
    )
    server_optimizer = optimizers.restrict(
      optimizer, [not is_phi for is_phi in parts.phi]
    )
  return alternating.compose_alternating_process(
    training_parts.build_training_parts(
      classifier,
      batch_label_training.build_batch_label_training(
        classifier,
        weak_augmentation=weak_augmentation,
        strong_augmentation=strong_augmentation,
        optimizer=client_optimizer,
        num_epochs=hyperparameters.client_epochs,
        batch_size=hyperparameters.client_batch_size,
        selection_fn=pseudo_labels.at_least(
          hyperparameters.confidence_threshold
        ),
      ),
      hyperparameters,
      weak_augmentation=weak_augmentation,
      aggregator=aggregator,
      client_optimizer=client_optimizer,
      server_optimizer=server_optimizer,
    )
  )
