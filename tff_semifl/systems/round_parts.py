# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Builds the parts of rounds from the training of clients and server."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.aggregation import aggregator_settings
from tff_semifl.aggregation import aggregators
from tff_semifl.aggregation import finalizer
from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.core import client_work
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import round_context
from tff_semifl.core import round_process
from tff_semifl.core import server_work as server_work_lib
from tff_semifl.core import supervised_training
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.training import client_report
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import training_loop

_REJECTION = aggregator_settings.Rejection()
_CLIENT_MOMENTUM = training_settings.ClientMomentum()


def build_round_parts(
  ingredients: system.Ingredients,
  local_training_fn: client_work.LocalTrainingFn,
  server_work: server_work_lib.ServerWorkProcess,
  *,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
  client_optimizer: tff.learning.optimizers.Optimizer,
  aggregator: tff.aggregators.AggregationFactory | None = None,
  rejection: aggregator_settings.Rejection = _REJECTION,
  client_momentum: training_settings.ClientMomentum = _CLIENT_MOMENTUM,
  client_data_type: tff.SequenceType | None = None,
  guidance: guidance_lib.Guidance | None = None,
) -> round_process.RoundParts:
  """Builds the parts of rounds in which clients' updates are averaged.

  Rounds end with batch normalization statistics of the server's images, if the
  ingredients say so. The aggregator is by default the uniform mean of the
  clients that count, and `client_data_type` that of images without labels. A
  client may keep the state of `client_optimizer`.
  """
  classifier = ingredients.classifier
  weights_type = classifier.weights_type
  aggregation = aggregators.create(
    aggregator or aggregators.build_mean(), weights_type.trainable
  )
  context_type = round_context.ROUND_CONTEXT_TYPE
  if guidance is not None:
    context_type = guidance.build_tell(
      weights_type, pipelines.labeled_type(classifier.image_shape)
    ).type_signature.result
  return round_process.RoundParts(
    initial_weights=classifier.initial_weights,
    seed=ingredients.seed,
    learning_rate_fn=learning_rate_fn,
    distributor=tff.learning.templates.build_broadcast_process(weights_type),
    client_work=client_work.build_client_work(
      classifier,
      local_training_fn,
      data_type=client_data_type,
      optimizer=client_optimizer,
      keep_optimizer_state=client_momentum.keep_client_momentum,
      max_update_norm_ratio=rejection.max_update_norm_ratio,
      # The private mean is unweighted. This would publish without noise what
      # it publishes with noise.
      measure_weight_diversity=aggregation.is_weighted,
      return_given_labels=ingredients.returns_given_labels,
      context_type=context_type,
    ),
    aggregator=aggregation,
    finalizer=finalizer.build_finalizer(
      # With a rate of 1 and no momentum the new weights are the mean.
      tff.learning.optimizers.build_sgdm(
        1.0, momentum=client_momentum.global_momentum
      ),
      weights_type,
    ),
    server_work=server_work,
    batch_norm_statistics=build_batch_norm_statistics(ingredients),
    guidance=guidance,
  )


def build_round_parts_without_clients(
  ingredients: system.Ingredients,
  server_work: server_work_lib.ServerWorkProcess,
  *,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
) -> round_process.RoundParts:
  """Builds the parts of rounds in which only the server trains."""
  return build_round_parts(
    ingredients,
    _do_nothing,
    server_work,
    learning_rate_fn=learning_rate_fn,
    # Never takes a step.
    client_optimizer=tff.learning.optimizers.build_sgdm(1.0),
  )


def _do_nothing(
  weights: functional.ModelWeights,
  context: round_context.RoundContext,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
) -> client_report.LocalTraining:
  """Returns the received weights, with an update of weight 0."""
  del context, data, given_labels
  zero = tf.constant(0.0)
  return client_report.LocalTraining(
    training_loop.TrainingResult(
      tuple(weights.trainable),
      optimizer_state,
      training_loop.TrainingSums(zero, zero, zero, zero),
    ),
    num_labeled=zero,
    num_confident=zero,
    weight=zero,
  )


def build_batch_norm_statistics(
  ingredients: system.Ingredients,
) -> tff.Computation | None:
  """Builds (<W@SERVER, L*@SERVER> -> W@SERVER), the statistics of the server.

  None if rounds do not end with statistics.
  """
  classifier = ingredients.classifier
  if classifier.batch_moments is None or not ingredients.computes_statistics:
    return None
  return batch_norm_statistics.build_server_batch_norm_statistics(classifier)


def build_server_work(
  ingredients: system.Ingredients,
  optimizer: tff.learning.optimizers.Optimizer,
  epochs: training_settings.ServerTraining,
  *,
  rate_factor: float = 1.0,
) -> server_work_lib.ServerWorkProcess:
  """Builds the training of a server on its labels.

  Its learning rate is the round's times `rate_factor`.
  """

  def build_training(num_epochs: float) -> server_work_lib.SupervisedTrainingFn:
    return supervised_training.build_supervised_training(
      ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=epochs.filled_batch_size,
      logit_adjustment=epochs.class_balance.server_logit_adjustment,
      is_balanced=epochs.class_balance.server_balanced_sampling,
    )

  training_fn = build_training(epochs.server_epochs)
  if epochs.server_pretraining_epochs is not None:
    training_fn = supervised_training.begin_with(
      build_training(epochs.server_pretraining_epochs), training_fn
    )
  return server_work_lib.build_server_work(
    ingredients.classifier,
    training_fn,
    optimizer=optimizer,
    rate_factor=rate_factor,
    keep_optimizer_state=epochs.keep_server_momentum,
  )
