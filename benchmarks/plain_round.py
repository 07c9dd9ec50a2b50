# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A round of SemiFL in plain TensorFlow."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from benchmarks import federation as federation_lib
from tff_semifl.algorithms import round_parts
from tff_semifl.core import batch_norm_statistics
from tff_semifl.core import federated_process
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.models import functional


def build_client_updates(
  federation: federation_lib.Federation,
) -> Callable[[functional.ModelWeights], list[list[tf.Tensor]]]:
  """Builds all client updates as plain TensorFlow functions.

  Returns:
    weights -> the update of each client in round 1, initial - trained weights.
  """
  system = federation.system
  optimizer = system.optimizer.build()
  train_client = round_parts.build_local_training(
    system.client, federation.ingredients, optimizer, system.local_training
  )
  context = _first_round(federation)

  @tf.function
  def client_update(weights, client_id, images):
    state = optimizer.set_hparams(
      training_loop.initial_optimizer_state(optimizer, weights.trainable),
      {'learning_rate': context.learning_rate},
    )
    data = {'client_id': client_id, 'image': images}
    training = train_client(weights, context, data, state).training
    return [
      old - new
      for old, new in zip(weights.trainable, training.trainable, strict=True)
    ]

  def client_updates(weights):
    return [
      client_update(weights, tf.constant(client), tf.constant(images))
      for client, images in enumerate(federation.client_images)
    ]

  return client_updates


def build_round(federation: federation_lib.Federation) -> Callable[[Any], Any]:
  """Builds a round as plain TensorFlow functions, without TFF.

  Returns:
    (weights, velocity, server's optimizer state) -> the new values after round
    1, by the arithmetic of the process.
  """
  system = federation.system
  train_server = server_work.SupervisedTraining(
    classifier=federation.classifier,
    weak_augmentation=federation.task.weak_augmentation,
    optimizer=system.optimizer.build(),
    num_epochs=system.server.server_epochs,
    batch_size=system.server.server_batch_size,
  )
  context = _first_round(federation)
  client_updates = build_client_updates(federation)

  @tf.function
  def server_update(weights, velocity, server_state, updates, images, labels):
    mean = [
      tf.add_n(parts) / len(updates) for parts in zip(*updates, strict=True)
    ]
    velocity = [
      system.client_momentum.global_momentum * v + g
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
    weights = batch_norm_statistics.compute_server_statistics(
      federation.classifier,
      weights,
      tf.data.Dataset.from_tensors({'image': images}),
    )
    return weights, velocity, result.optimizer_state

  def plain_round(state):
    weights, velocity, server_state = state
    return server_update(
      weights,
      velocity,
      server_state,
      client_updates(weights),
      tf.constant(federation.server_images),
      tf.constant(federation.server_labels),
    )

  return plain_round


def initial_state(federation: federation_lib.Federation) -> Any:
  """The initial state of `build_round`."""
  weights = tf.nest.map_structure(
    tf.constant, federation.classifier.initial_weights
  )
  return (
    weights,
    [tf.zeros_like(array) for array in weights.trainable],
    training_loop.initial_optimizer_state(
      federation.system.optimizer.build(), weights.trainable
    ),
  )


def _first_round(
  federation: federation_lib.Federation,
) -> federated_process.RoundContext:
  round_num = tf.constant(1)
  return federated_process.RoundContext(
    tf.constant(federation.ingredients.seed),
    round_num,
    federation.system.rounds.create_learning_rate_fn()(round_num),
  )
