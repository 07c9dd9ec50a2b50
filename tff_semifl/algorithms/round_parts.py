# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Builds the components of a round from a method and its settings."""

from collections.abc import Callable

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import client_update
from tff_semifl.core import client_work as client_work_lib
from tff_semifl.core import composition
from tff_semifl.core import method as method_lib
from tff_semifl.core import server_work as server_work_lib
from tff_semifl.privacy import aggregators

_PACKAGE = f'{__name__.partition(".")[0]}.'


def build_round_parts(
  ingredients: system.Ingredients,
  client_work: client_work_lib.ClientWork,
  server_work: server_work_lib.ServerWork,
  *,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
  aggregator: tff.templates.AggregationProcess | None = None,
  global_optimizer: tff.learning.optimizers.Optimizer | None = None,
  guides: method_lib.Guides | None = None,
) -> composition.Parts:
  """Builds the parts of a process that averages clients' updates.

  The default aggregator is `aggregators.Mean`, and the default optimizer moves
  the global model to the mean.
  """
  weights_type = ingredients.classifier.weights_type
  return composition.Parts(
    classifier=ingredients.classifier,
    seed=ingredients.seed,
    learning_rate_fn=learning_rate_fn,
    client_work=client_work,
    server_work=server_work,
    aggregator=aggregator
    or aggregators.create(aggregators.Mean().build(), weights_type.trainable),
    finalizer=tff.learning.templates.build_apply_optimizer_finalizer(
      global_optimizer or tff.learning.optimizers.build_sgdm(1.0), weights_type
    ),
    computes_statistics=ingredients.computes_statistics,
    guides=guides or {},
    num_clients=ingredients.num_clients,
  )


def build_local_training(
  method: method_lib.Method,
  ingredients: system.Ingredients,
  optimizer: tff.learning.optimizers.Optimizer,
  epochs: training_settings.ClientEpochs | None,
) -> client_work_lib.LocalTrainingFn:
  """Builds a client's local training; without `epochs` it takes no step."""
  training = client_update.Training(
    model=ingredients.classifier,
    weak_augmentation=ingredients.weak_augmentation,
    strong_augmentation=ingredients.strong_augmentation,
    optimizer=optimizer,
    num_epochs=epochs.client_epochs if epochs else 0,
    batch_size=epochs.client_batch_size if epochs else 1,
    jit_compile=ingredients.jit_compile and epochs is not None,
  )
  if not all(
    type(part).__module__.startswith(_PACKAGE)
    for part in (method, *method.parts.values())
  ):
    from tff_semifl.algorithms import method_check

    method_check.check_kept(method, training.model)
    method_check.check_labels(method, training)
    if training.jit_compile:
      with settings.blame('jit_compile', True):
        method_check.check_padding(method, training)
  return client_update.build_local_training(method, training)


def build_server_work(
  ingredients: system.Ingredients,
  optimizer: tff.learning.optimizers.Optimizer,
  epochs: training_settings.ServerTraining,
  *,
  rate_factor: float = 1.0,
) -> server_work_lib.ServerWork:
  """Builds the server's training; `rate_factor` scales the learning rate."""

  def build_training(num_epochs: float) -> server_work_lib.SupervisedTrainingFn:
    return server_work_lib.SupervisedTraining(
      classifier=ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=epochs.filled_batch_size,
      logit_adjustment=epochs.class_balance.server_logit_adjustment,
      is_balanced=epochs.class_balance.server_balanced_sampling,
    )

  pretraining_fn = None
  if epochs.server_pretraining_epochs is not None:
    pretraining_fn = build_training(epochs.server_pretraining_epochs)
  return server_work_lib.build_server_work(
    ingredients.classifier,
    build_training(epochs.server_epochs),
    pretraining_fn=pretraining_fn,
    optimizer=optimizer,
    rate_factor=rate_factor,
    keep_optimizer_state=epochs.keep_server_momentum,
  )
