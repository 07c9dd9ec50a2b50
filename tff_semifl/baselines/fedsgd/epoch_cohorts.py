# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Cohorts of the steps of an epoch of federated SGD.

In an epoch every image of every client is in one step. The number of steps is
random: clients without images left are not drawn again, so that the last steps
may have fewer clients.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.randomness import random_seeds


class EpochCohorts(NamedTuple):
  """The cohorts of all steps of an epoch.

  Attributes:
    clients: int32 [steps, clients of a step], positions of clients; -1 for
      none.
    earlier_steps: int32 [steps, clients of a step], the number of earlier steps
      of the epoch that the client was in.
  """

  clients: tf.Tensor
  earlier_steps: tf.Tensor


def draw(
  num_batches: tf.Tensor, clients_per_step: int, seed: tf.Tensor
) -> EpochCohorts:
  """Draws cohorts, each uniformly among the clients that have a batch left.

  Args:
    num_batches: int32 [clients], the number of batches of each client.
    clients_per_step: Clients of a step, if so many have a batch left.
    seed: int32 [2], a stateless seed of the epoch.
  """
  num_clients = tf.shape(num_batches)[0]
  size = tf.minimum(clients_per_step, num_clients)

  def draw_step(step, steps_taken, clients, earlier_steps):
    draws = tf.random.stateless_uniform(
      [num_clients], random_seeds.fold_in(seed, step)
    )
    # Draws are at least 0, so that clients without a batch come last.
    draws = tf.where(steps_taken < num_batches, draws, -1.0)
    values, drawn = tf.math.top_k(draws, size)
    has_batch = values >= 0
    clients = clients.write(step, tf.where(has_batch, drawn, -1))
    earlier_steps = earlier_steps.write(step, tf.gather(steps_taken, drawn))
    steps_taken = tf.tensor_scatter_nd_add(
      steps_taken, drawn[:, tf.newaxis], tf.cast(has_batch, tf.int32)
    )
    return step + 1, steps_taken, clients, earlier_steps

  def create_array() -> tf.TensorArray:
    return tf.TensorArray(
      tf.int32, size=0, dynamic_size=True, element_shape=[None]
    )

  num_steps, _, clients, earlier_steps = tf.while_loop(
    lambda step, steps_taken, *_: tf.reduce_any(steps_taken < num_batches),
    draw_step,
    (0, tf.zeros_like(num_batches), create_array(), create_array()),
  )
  # An empty `TensorArray` cannot be stacked, as its width is unknown.
  return tf.cond(
    num_steps > 0,
    lambda: EpochCohorts(clients.stack(), earlier_steps.stack()),
    lambda: EpochCohorts(
      tf.zeros([0, size], tf.int32), tf.zeros([0, size], tf.int32)
    ),
  )


def find_images(
  cohorts: EpochCohorts,
  step: tf.Tensor,
  num_images: tf.Tensor,
  batch_size: int,
) -> tf.Tensor:
  """The images of a step's cohort, client by client.

  Args:
    step: int32 scalar, the step.
    num_images: int32 [clients], the number of images of each client.

  Returns:
    int32 [images of the step], indices into the images of all clients.
  """
  is_there = cohorts.clients[step] >= 0
  clients = tf.boolean_mask(cohorts.clients[step], is_there)
  starts = tf.boolean_mask(cohorts.earlier_steps[step], is_there) * batch_size
  within = starts[:, tf.newaxis] + tf.range(batch_size)
  first_images = tf.cumsum(num_images, exclusive=True)
  indices = tf.gather(first_images, clients)[:, tf.newaxis] + within
  return tf.boolean_mask(
    indices, within < tf.gather(num_images, clients)[:, tf.newaxis]
  )
