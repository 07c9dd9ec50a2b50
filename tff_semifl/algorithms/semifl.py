# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL: Semi-Supervised Federated Learning with alternate training.

Diao, Ding, Tarokh. SemiFL: Semi-Supervised Federated Learning for Unlabeled
Clients with Alternate Training. NeurIPS 2022. https://arxiv.org/abs/2106.01432
"""

import functools

import numpy as np
import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl import schedules
from tff_semifl.algorithms import alternating
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import client_work
from tff_semifl.work import server_work


def build_semifl(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  total_rounds: int,
  server_batch_size: int,
  seed: int = 0,
  client_epochs: int = 5,
  server_epochs: int = 5,
  client_batch_size: int = 10,
  confidence_threshold: float = 0.95,
  mixup_concentration: float = 0.75,
  mix_loss_weight: float = 1.0,
  learning_rate: float = 0.03,
  optimizer: tff.learning.optimizers.Optimizer | None = None,
  global_momentum: float = 0.5,
  aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> tff.templates.IterativeProcess:
  """Builds SemiFL, Algorithm 1 of the paper, as an iterative process.

  In each round the cohort receives the model (distributor), labels its images
  with it and trains on those it is sure of (client work); the server takes the
  mean of what comes back (aggregator), with momentum (finalizer), fine-tunes
  it on its own labels (server work) and computes batch normalisation
  statistics for it. Round 0 has no cohort: the paper's first server update
  (D1). Types are those of `compose_alternating_process`.

  The defaults are the paper's (Tables 4 and 5, section 4).

  Args:
    classifier: The model.
    weak_augmentation: (uint8 images, stateless seed) -> uint8 images; for the
      server, for pseudo-labels and for mixing.
    strong_augmentation: Likewise, for the fix loss.
    total_rounds: T, the length of the learning rate schedule.
    server_batch_size: Labelled images in a step: 250, or 10 for up to 250
      labelled images in all (D4).
    seed: The run's seed.
    client_epochs: E, for clients.
    server_epochs: E, for the server. 0 makes the server only average.
    client_batch_size: Images in a step of a client.
    confidence_threshold: tau, in (0, 1].
    mixup_concentration: a, of Beta(a, a).
    mix_loss_weight: lambda; 0 leaves out mixup.
    learning_rate: That of the first round, for server and clients.
    optimizer: For server and clients; by default `build_nesterov_sgd()`. The
      schedule sets its learning rate.
    global_momentum: beta_g, in [0, 1); 0 makes it a plain mean (D15).
    aggregator: By default the uniform mean of the clients that count (A.12).
  """
  # The mean over no client at all is zero, not 0 / 0.
  aggregator = aggregator or tff.aggregators.MeanFactory(no_nan_division=True)
  optimizer = optimizer or optimizers.build_nesterov_sgd()
  weights_type = classifier.weights_type
  statistics = None
  if classifier.batch_moments is not None:
    statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      classifier
    )
  return alternating.compose_alternating_process(
    initial_weights=classifier.initial_weights,
    seed=seed,
    learning_rate_fn=functools.partial(
      schedules.cosine_decay,
      initial_value=learning_rate,
      total_rounds=total_rounds,
    ),
    distributor=tff.learning.templates.build_broadcast_process(weights_type),
    client_work=client_work.build_fix_mix_client_work(
      classifier,
      weak_augmentation=weak_augmentation,
      strong_augmentation=strong_augmentation,
      optimizer=optimizer,
      num_epochs=client_epochs,
      batch_size=client_batch_size,
      confidence_threshold=confidence_threshold,
      mixup_concentration=mixup_concentration,
      mix_loss_weight=mix_loss_weight,
    ),
    aggregator=aggregator.create(
      weights_type.trainable, tff.TensorType(np.float32)
    ),
    finalizer=tff.learning.templates.build_apply_optimizer_finalizer(
      # With a rate of 1 and no momentum the new weights are the mean.
      tff.learning.optimizers.build_sgdm(1.0, momentum=global_momentum),
      weights_type,
    ),
    server_work=server_work.build_supervised_server_work(
      classifier,
      weak_augmentation=weak_augmentation,
      optimizer=optimizer,
      num_epochs=server_epochs,
      batch_size=server_batch_size,
    ),
    batch_norm_statistics=statistics,
  )
