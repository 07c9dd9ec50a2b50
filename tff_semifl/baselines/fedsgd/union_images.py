# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Batches of several clients' images; only a simulation can build them."""

import collections
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_work
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.data import pipelines
from tff_semifl.data import sources


class ClientImages(NamedTuple):
  """The images of clients, concatenated."""

  client_id: tf.Tensor  # int32 [clients]
  num_images: tf.Tensor  # int32 [clients]
  image: tf.Tensor  # uint8 [images of all clients, height, width, channels]


def build_gathering(image_shape: pipelines.ImageShape) -> tff.Computation:
  """Builds a TFF computation that collects clients' images at the server.

  Data sets are of `pipelines.client_type`; the result is sorted by client.
  """

  def hand_over(dataset):
    data = pipelines.concatenate_chunks(dataset)
    number = tf.shape(data['image'])[:1]
    return ClientImages(data['client_id'][tf.newaxis], number, data['image'])

  def nothing():
    return ClientImages(
      client_id=rows_lib.no_rows([], tf.int32),
      num_images=rows_lib.no_rows([], tf.int32),
      image=rows_lib.no_rows(image_shape, sources.kind_of(image_shape).dtype),
    )

  def join(first, second):
    return ClientImages(
      *(tf.concat(pair, axis=0) for pair in zip(first, second, strict=True))
    )

  def sort(images):
    order = tf.argsort(images.client_id)
    rows = tf.RaggedTensor.from_row_lengths(images.image, images.num_images)
    return ClientImages(
      client_id=tf.gather(images.client_id, order),
      num_images=tf.gather(images.num_images, order),
      image=tf.gather(rows, order).values,
    )

  data_type = pipelines.client_type(image_shape)
  compute = tff.tensorflow.computation
  zero = compute(nothing)
  images_type = zero.type_signature.result
  hand_over, sort = compute(hand_over, data_type), compute(sort, images_type)
  join = compute(join, (images_type, images_type))

  @tff.federated_computation(tff.FederatedType(data_type, tff.CLIENTS))
  def gather(client_data):
    return tff.federated_aggregate(
      tff.federated_map(hand_over, client_data), zero(), join, join, sort
    )

  return gather


def draw_cohort(
  num_left: tf.Tensor, clients_per_step: int, seed: tf.Tensor
) -> tf.Tensor:
  """Draws the clients of a step uniformly among clients with a batch left.

  `num_left`, int32 [clients], is the number of unused batches. Returns distinct
  indices of clients, int32 [at most `clients_per_step`].
  """
  values = tf.random.stateless_uniform(tf.shape(num_left), seed)
  # Values are at least 0, so that clients without a batch come last.
  values, drawn = tf.math.top_k(
    tf.where(num_left > 0, values, -1.0),
    tf.minimum(clients_per_step, tf.size(num_left)),
  )
  return tf.boolean_mask(drawn, values >= 0)


def find_images(
  cohort: tf.Tensor,
  earlier_steps: tf.Tensor,
  num_images: tf.Tensor,
  batch_size: int,
) -> tf.Tensor:
  """Indices of a step's images among the images of all clients, int32.

  `earlier_steps` are numbers of earlier steps of the clients in `cohort`, and
  `num_images` are numbers of images of all clients. All arguments are int32.
  """
  within = (earlier_steps * batch_size)[:, tf.newaxis] + tf.range(batch_size)
  first_images = tf.gather(tf.cumsum(num_images, exclusive=True), cohort)
  return tf.boolean_mask(
    first_images[:, tf.newaxis] + within,
    within < tf.gather(num_images, cohort)[:, tf.newaxis],
  )


def select_own(
  labels: pseudo_labels.GivenLabels,
  client_id: tf.Tensor,
  num_images: tf.Tensor,
  dataset: tf.data.Dataset,
) -> pseudo_labels.GivenLabels:
  """A client's pseudo-labels, with indices into the client's own images."""
  own_id = pipelines.concatenate_chunks(dataset)['client_id']
  first = tf.reduce_sum(tf.boolean_mask(num_images, client_id < own_id))
  number = tf.reduce_sum(
    tf.boolean_mask(num_images, tf.equal(client_id, own_id))
  )
  image = labels.image - first
  is_own = (image >= 0) & (image < number)
  return tf.nest.map_structure(
    lambda array: tf.boolean_mask(array, is_own), labels._replace(image=image)
  )


def summarize_clients(
  sums: tf.Tensor, given: pseudo_labels.GivenLabels, num_images: tf.Tensor
) -> Mapping[str, tf.Tensor]:
  """Clients' metrics, from sums of loss, correct predictions and examples."""
  loss, num_correct, num_examples = tf.unstack(sums)
  ratio = client_work.Ratio
  num_confident = tf.math.count_nonzero(given.share > 0, dtype=tf.float32)
  return client_work.summarize(
    client_work.ClientSums(
      collections.OrderedDict(
        loss=ratio(loss, num_examples),
        accuracy=ratio(num_correct, num_examples),
        label_ratio=ratio(
          num_confident, tf.cast(tf.size(given.image), tf.float32)
        ),
        num_participating=tf.math.count_nonzero(num_images, dtype=tf.float32),
        num_rejected=tf.constant(0.0),
      )
    )
  )
