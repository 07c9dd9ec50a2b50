# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's parts around what clients do: server work, mean and momentum."""

import functools

import numpy as np
import tensorflow_federated as tff

from tff_semifl import schedules
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import client_work
from tff_semifl.work import server_work
from tff_semifl.work import supervised_training


def build_alternate_training(
  classifier: functional.ImageClassifier,
  local_training_fn: client_work.LocalTrainingFn,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> tff.templates.IterativeProcess:
  """Builds alternate training with what the clients do.

  In each round the cohort receives the model (distributor) and trains it
  (client work); the server takes the mean of what comes back (aggregator),
  with momentum (finalizer), fine-tunes it on its own labels (server work) and
  computes batch normalisation statistics for it. Round 0 has no cohort: the
  paper's first server update (D1). Types are those of
  `compose_alternating_process`.

  Args:
    classifier: The model.
    local_training_fn: What a client does in a round.
    hyperparameters: The numbers.
    weak_augmentation: For the server's images.
    aggregator: By default the uniform mean of the clients that count (A.12).
  """
  # The mean over no client at all is zero, not 0 / 0.
  aggregator = aggregator or tff.aggregators.MeanFactory(no_nan_division=True)
  weights_type = classifier.weights_type
  statistics = None
  if classifier.batch_moments is not None and hyperparameters.server_statistics:
    statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      classifier
    )
  return alternating.compose_alternating_process(
    initial_weights=classifier.initial_weights,
    seed=hyperparameters.seed,
    learning_rate_fn=functools.partial(
      schedules.cosine_decay,
      initial_value=hyperparameters.learning_rate,
      total_rounds=hyperparameters.total_rounds,
    ),
    distributor=tff.learning.templates.build_broadcast_process(weights_type),
    client_work=client_work.build_client_work(
      classifier,
      local_training_fn,
      optimizer=hyperparameters.optimizer,
      keep_optimizer_state=hyperparameters.keep_client_momentum,
    ),
    aggregator=aggregator.create(
      weights_type.trainable, tff.TensorType(np.float32)
    ),
    finalizer=tff.learning.templates.build_apply_optimizer_finalizer(
      # With a rate of 1 and no momentum the new weights are the mean.
      tff.learning.optimizers.build_sgdm(
        1.0, momentum=hyperparameters.global_momentum
      ),
      weights_type,
    ),
    server_work=server_work.build_server_work(
      classifier,
      supervised_training.build_supervised_training(
        classifier,
        weak_augmentation=weak_augmentation,
        optimizer=hyperparameters.optimizer,
        num_epochs=hyperparameters.server_epochs,
        batch_size=hyperparameters.server_batch_size,
      ),
      optimizer=hyperparameters.optimizer,
      keep_optimizer_state=hyperparameters.keep_server_momentum,
    ),
    batch_norm_statistics=statistics,
  )
