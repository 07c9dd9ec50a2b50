# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The images of clients in one place, which only a simulation may have."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import example_kinds
from tff_semifl.data import pipelines
from tff_semifl.training import given_labels


class ClientImages(NamedTuple):
  """The images of some clients, one client after the other.

  Numbers of clients and of their images are int32 [clients]; images are uint8
  [images of all clients, height, width, channels].
  """

  client_id: tf.Tensor
  num_images: tf.Tensor
  image: tf.Tensor


def build_gathering(image_shape: pipelines.ImageShape) -> tff.Computation:
  """Builds ({U*}@CLIENTS -> ClientImages@SERVER), sorted by client number.

  U are chunks of `pipelines.client_type`.
  """

  @tff.tensorflow.computation(pipelines.client_type(image_shape))
  def hand_over(dataset: tf.data.Dataset):
    data = pipelines.concatenate_chunks(dataset)
    return ClientImages(
      client_id=data['client_id'][tf.newaxis],
      num_images=tf.shape(data['image'])[:1],
      image=data['image'],
    )

  @tff.tensorflow.computation
  def of_nobody():
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

  images_type = of_nobody.type_signature.result

  @tff.tensorflow.computation(images_type, images_type)
  def join(first: ClientImages, second: ClientImages):
    return tf.nest.map_structure(
      lambda a, b: tf.concat([a, b], axis=0), first, second
    )

  @tff.tensorflow.computation(images_type)
  def sort(images: ClientImages):
    order = tf.argsort(images.client_id)
    by_client = tf.RaggedTensor.from_row_lengths(
      images.image, images.num_images
    )
    return ClientImages(
      client_id=tf.gather(images.client_id, order),
      num_images=tf.gather(images.num_images, order),
      image=tf.gather(by_client, order).values,
    )

  @tff.federated_computation(
    tff.FederatedType(pipelines.client_type(image_shape), tff.CLIENTS)
  )
  def gather(client_data):
    return tff.federated_aggregate(
      tff.federated_map(hand_over, client_data), of_nobody(), join, join, sort
    )

  return gather


def build_selection_of_own_labels(
  image_shape: pipelines.ImageShape,
) -> tff.Computation:
  """Builds the selection of the pseudo-labels of a client's own images.

  Returns:
    A computation with G for `GivenLabels` of all images, the first two fields
    of `ClientImages`, and U for chunks of `pipelines.client_type`:

        (<G, client_id=int32[clients], num_images=int32[clients], U*> -> G)

    Indices of the result count from the client's first image.
  """
  numbers_type = tff.TensorType(np.int32, (None,))

  @tff.tensorflow.computation(
    given_labels.GIVEN_LABELS_TYPE,
    numbers_type,
    numbers_type,
    pipelines.client_type(image_shape),
  )
  def select_own(
    labels: given_labels.GivenLabels,
    client_id: tf.Tensor,
    num_images: tf.Tensor,
    dataset: tf.data.Dataset,
  ):
    own_id = pipelines.concatenate_chunks(dataset)['client_id']
    first = tf.reduce_sum(tf.boolean_mask(num_images, client_id < own_id))
    number = tf.reduce_sum(
      tf.boolean_mask(num_images, tf.equal(client_id, own_id))
    )
    image = labels.image - first
    is_own = (image >= 0) & (image < number)
    return tf.nest.map_structure(
      lambda array: tf.boolean_mask(array, is_own),
      given_labels.GivenLabels(image, labels.label, labels.share),
    )

  return select_own
