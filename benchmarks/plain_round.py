# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The arithmetic of a round of SemiFL in plain TensorFlow."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from benchmarks import federation as federation_lib
from tff_semifl import pseudo_labels
from tff_semifl import schedules
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import fix_mix_training
from tff_semifl.work import round_context
from tff_semifl.work import supervised_training
from tff_semifl.work import training_loop


def build_client_turns(
  federation: federation_lib.Federation,
) -> Callable[[functional.ModelWeights], list[list[tf.Tensor]]]:
  """Builds the training of all clients as plain TensorFlow functions.

  Args:
    federation: Whose clients.

  Returns:
    weights -> the update of each client in round 1, initial - trained.
  """
  numbers = federation.hyperparameters
  train_client = fix_mix_training.build_fix_mix_training(
    federation.classifier,
    weak_augmentation=federation.task.weak_augmentation,
    strong_augmentation=federation.task.strong_augmentation,
    optimizer=numbers.optimizer,
    num_epochs=numbers.client_epochs,
    batch_size=numbers.client_batch_size,
    selection_fn=pseudo_labels.at_least(numbers.confidence_threshold),
    mixup_concentration=0.75,
    mix_loss_weight=1.0,
  )
  context = _first_round(numbers)

  @tf.function
  def client_turn(weights, client_id, images):
    state = training_loop.initial_optimizer_state(
      numbers.optimizer, weights.trainable
    )
    local = train_client(
      weights,
      context,
      {'client_id': client_id, 'image': images},
      numbers.optimizer.set_hparams(
        state, {'learning_rate': context.learning_rate}
      ),
    )
    return [
      old - new
      for old, new in zip(
        weights.trainable, local.training.trainable, strict=True
      )
    ]

  def client_turns(weights):
    return [
      client_turn(weights, tf.constant(client), tf.constant(images))
      for client, images in enumerate(federation.client_images)
    ]

  return client_turns


def build_round(federation: federation_lib.Federation) -> Callable[[Any], Any]:
  """Builds a round as plain TensorFlow functions: no TFF, no process.

  Args:
    federation: Whose round.

  Returns:
    (weights, velocity, server's optimizer state) -> the same after round 1,
    by the arithmetic of the process.
  """
  numbers = federation.hyperparameters
  train_server = supervised_training.build_supervised_training(
    federation.classifier,
    weak_augmentation=federation.task.weak_augmentation,
    optimizer=numbers.optimizer,
    num_epochs=numbers.server_epochs,
    batch_size=numbers.server_batch_size,
  )
  context = _first_round(numbers)
  client_turns = build_client_turns(federation)

  @tf.function
  def server_turn(weights, velocity, server_state, updates, images, labels):
    mean = [
      tf.add_n(parts) / len(updates) for parts in zip(*updates, strict=True)
    ]
    velocity = [
      numbers.global_momentum * v + g
      for v, g in zip(velocity, mean, strict=True)
    ]
    weights = functional.ModelWeights(
      tuple(w - v for w, v in zip(weights.trainable, velocity, strict=True)),
      weights.non_trainable,
    )
    result = train_server(
      weights, context, {'image': images, 'label': labels}, server_state
    )
    weights = functional.ModelWeights(result.trainable, weights.non_trainable)
    statistics = batch_norm_statistics.fold_batches(
      federation.classifier,
      weights,
      tf.data.Dataset.from_tensors(images),
      batch_norm_statistics.merge_moments,
    )
    weights = batch_norm_statistics.replace_statistics(
      weights,
      tuple(map(batch_norm_statistics.unbiased_statistics, statistics)),
    )
    return weights, velocity, result.optimizer_state

  def plain_round(state):
    weights, velocity, server_state = state
    return server_turn(
      weights,
      velocity,
      server_state,
      client_turns(weights),
      tf.constant(federation.server_images),
      tf.constant(federation.server_labels),
    )

  return plain_round


def initial_state(federation: federation_lib.Federation) -> Any:
  """Returns the state that `build_round` starts from."""
  weights = tf.nest.map_structure(
    tf.constant, federation.classifier.initial_weights
  )
  return (
    weights,
    [tf.zeros_like(array) for array in weights.trainable],
    training_loop.initial_optimizer_state(
      federation.hyperparameters.optimizer, weights.trainable
    ),
  )


def _first_round(
  numbers: hyperparameters_lib.Hyperparameters,
) -> round_context.RoundContext:
  return round_context.RoundContext(
    tf.constant(numbers.seed),
    tf.constant(1),
    schedules.cosine_decay(
      1,
      initial_value=numbers.learning_rate,
      total_rounds=numbers.total_rounds,
    ),
  )
