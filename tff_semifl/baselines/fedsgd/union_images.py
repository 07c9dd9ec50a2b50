# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Batches of several clients' images, possible only in a simulation.

In an epoch every image of every client is in exactly one step. Clients whose
images are used up are not drawn again, so the number of steps is random, and
the last steps may have fewer clients.
"""

import functools
from typing import NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import pseudo_labels
from tff_semifl.data import example_kinds
from tff_semifl.data import pipelines
from tff_semifl.randomness import random_draws


class ClientImages(NamedTuple):
  """The images of some clients, one client after the other.

  `client_id` and `num_images` are int32 [clients]; `image` is uint8 [images of
  all clients, height, width, channels].
  """

  client_id: tf.Tensor
  num_images: tf.Tensor
  image: tf.Tensor


def build_gathering(image_shape: pipelines.ImageShape) -> tff.Computation:
  """Builds the computation that gathers images, sorted by client number.

  Its type is ({U*}@CLIENTS -> ClientImages@SERVER), with chunks U of
  `pipelines.client_type`.
  """
  data_type = pipelines.client_type(image_shape)
  compute = tff.tensorflow.computation
  hand_over = compute(_hand_over, data_type)
  of_nobody = compute(functools.partial(_of_nobody, image_shape))
  images_type = of_nobody.type_signature.result
  join = compute(_join, (images_type, images_type))
  sort = compute(_sort, images_type)

  @tff.federated_computation(tff.FederatedType(data_type, tff.CLIENTS))
  def gather(client_data):
    return tff.federated_aggregate(
      tff.federated_map(hand_over, client_data), of_nobody(), join, join, sort
    )

  return gather


def _hand_over(dataset: tf.data.Dataset) -> ClientImages:
  data = pipelines.concatenate_chunks(dataset)
  return ClientImages(
    client_id=data['client_id'][tf.newaxis],
    num_images=tf.shape(data['image'])[:1],
    image=data['image'],
  )


def _of_nobody(image_shape: pipelines.ImageShape) -> ClientImages:
  # A constant would have a fixed shape, which could not grow.
  return ClientImages(
    *(
      tf.compat.v1.placeholder_with_default(
        tf.zeros([0, *shape], dtype), [None, *shape]
      )
      for dtype, shape in (
        (tf.int32, ()),
        (tf.int32, ()),
        (example_kinds.kind_of(image_shape).dtype, image_shape),
      )
    )
  )


def _join(first: ClientImages, second: ClientImages) -> ClientImages:
  return tf.nest.map_structure(
    lambda a, b: tf.concat([a, b], axis=0), first, second
  )


def _sort(images: ClientImages) -> ClientImages:
  order = tf.argsort(images.client_id)
  by_client = tf.RaggedTensor.from_row_lengths(images.image, images.num_images)
  return ClientImages(
    client_id=tf.gather(images.client_id, order),
    num_images=tf.gather(images.num_images, order),
    image=tf.gather(by_client, order).values,
  )


def select_own(
  labels: pseudo_labels.GivenLabels,
  client_id: tf.Tensor,
  num_images: tf.Tensor,
  dataset: tf.data.Dataset,
) -> pseudo_labels.GivenLabels:
  """Selects the pseudo-labels of a client's own images.

  `client_id` and `num_images` are fields of `ClientImages`. Image indices in
  the result count from the client's first image.
  """
  own_id = pipelines.concatenate_chunks(dataset)['client_id']
  first = tf.reduce_sum(tf.boolean_mask(num_images, client_id < own_id))
  number = tf.reduce_sum(
    tf.boolean_mask(num_images, tf.equal(client_id, own_id))
  )
  image = labels.image - first
  is_own = (image >= 0) & (image < number)
  return tf.nest.map_structure(
    lambda array: tf.boolean_mask(array, is_own),
    pseudo_labels.GivenLabels(image, labels.label, labels.share),
  )


class EpochCohorts(NamedTuple):
  """The cohorts of all steps of an epoch, int32 [steps, clients of a step].

  `clients` are indices of clients, -1 for none; `earlier_steps` counts the
  earlier steps of the epoch with that client.
  """

  clients: tf.Tensor
  earlier_steps: tf.Tensor


def draw_cohorts(
  num_batches: tf.Tensor, clients_per_step: int, seed: tf.Tensor
) -> EpochCohorts:
  """Draws each cohort uniformly among the clients that have a batch left.

  `num_batches` is the number of batches of each client, int32 [clients].
  """
  num_clients = tf.shape(num_batches)[0]
  size = tf.minimum(clients_per_step, num_clients)

  def draw_step(step, steps_taken, clients, earlier_steps):
    values = tf.random.stateless_uniform(
      [num_clients], random_draws.fold_in(seed, step)
    )
    # Values are at least 0, so that clients without a batch come last.
    values = tf.where(steps_taken < num_batches, values, -1.0)
    values, drawn = tf.math.top_k(values, size)
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
  """Indices of a step's images among the images of all clients.

  `num_images` is the number of images of each client, int32 [clients].
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
