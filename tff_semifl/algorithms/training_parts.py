# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of SemiFL's experiments around what clients do."""

from collections.abc import Callable
import functools

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import schedules
from tff_semifl.algorithms import aggregators
from tff_semifl.algorithms import finalizer
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import round_process
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import client_work
from tff_semifl.work import guidance as guidance_lib
from tff_semifl.work import round_context
from tff_semifl.work import server_work
from tff_semifl.work import supervised_training


def build_training_parts(
  classifier: functional.ImageClassifier,
  local_training_fn: client_work.LocalTrainingFn,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.AggregationFactory | None = None,
  client_data_type: tff.SequenceType | None = None,
  client_optimizer: tff.learning.optimizers.Optimizer | None = None,
  server_optimizer: tff.learning.optimizers.Optimizer | None = None,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor] | None = None,
  guidance: guidance_lib.Guidance | None = None,
) -> round_process.RoundParts:
  """Builds what all systems of SemiFL's experiments are made of.

  Clients take turns as `local_training_fn` has it, and report updates, which
  are averaged, with momentum; the server trains on its own labels, and has
  batch normalisation statistics of its images computed.

  Args:
    classifier: The model.
    local_training_fn: What a client does in a round.
    hyperparameters: The numbers.
    weak_augmentation: For the server's images.
    aggregator: One of `aggregators`, or another of TFF's for lists of tensors.
      By default the uniform mean of the clients that count (A.12).
    client_data_type: What clients have. By default images without labels.
    client_optimizer: What the clients' training keeps a state of. By default
      that of the hyperparameters.
    server_optimizer: What the server trains with. By default likewise.
    learning_rate_fn: Round -> learning rate. By default the cosine of
      SemiFL (A.4).
    guidance: What else the server keeps and tells clients. By default nothing.
  """
  server_optimizer = server_optimizer or hyperparameters.optimizer
  weights_type = classifier.weights_type
  aggregation = aggregators.create(
    aggregator or aggregators.build_mean(), weights_type.trainable
  )
  statistics = None
  if classifier.batch_moments is not None and hyperparameters.server_statistics:
    statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      classifier
    )
  context_type = round_context.ROUND_CONTEXT_TYPE
  if guidance is not None:
    context_type = guidance.build_tell(weights_type).type_signature.result
  return round_process.RoundParts(
    initial_weights=classifier.initial_weights,
    seed=hyperparameters.seed,
    learning_rate_fn=learning_rate_fn
    or functools.partial(
      schedules.cosine_decay,
      initial_value=hyperparameters.learning_rate,
      total_rounds=hyperparameters.total_rounds,
    ),
    distributor=tff.learning.templates.build_broadcast_process(weights_type),
    client_work=client_work.build_client_work(
      classifier,
      local_training_fn,
      data_type=client_data_type,
      optimizer=client_optimizer or hyperparameters.optimizer,
      keep_optimizer_state=hyperparameters.keep_client_momentum,
      max_update_norm_ratio=hyperparameters.max_update_norm_ratio,
      # It would say without noise what the private mean, which is unweighted,
      # says with noise.
      measure_weight_diversity=aggregation.is_weighted,
      return_given_labels=hyperparameters.return_given_labels,
      context_type=context_type,
    ),
    aggregator=aggregation,
    finalizer=finalizer.build_finalizer(
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
        optimizer=server_optimizer,
        num_epochs=hyperparameters.server_epochs,
        batch_size=hyperparameters.server_batch_size,
      ),
      optimizer=server_optimizer,
      keep_optimizer_state=hyperparameters.keep_server_momentum,
    ),
    batch_norm_statistics=statistics,
    guidance=guidance,
  )
