# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The principal components, found before the first round."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import labels_alone
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.privacy import aggregators


def build(
  head: linear_head.LinearHead,
  server_type: tff.SequenceType,
  client_type: tff.SequenceType,
  alone_type: tff.Type,
) -> Callable[[Any, Any, Any], Any]:
  """Builds a part of a federated computation.

  Args:
    head: Reads examples.
    server_type: The type of the server's data.
    client_type: The type of a client's data.
    alone_type: The type of `labels_alone.Fitted`.

  Returns:
    (`labels_alone.Fitted` at the server, server data, data of all clients) ->
    `components.Components` at the server. They are the server's own where
    clients have fewer examples than the server. A client with sums that are not
    finite is left out.
  """

  @tff.tensorflow.computation(server_type)
  def find_center(dataset):
    x, _ = head.read_labels(dataset)
    return tf.reduce_mean(x, axis=0)

  @tff.tensorflow.computation(client_type, find_center.type_signature.result)
  def measure(dataset, center):
    measured = components_lib.measure(head.read(dataset), center)
    is_sound = aggregators.has_finite_norm(measured)
    return tf.nest.map_structure(
      lambda each: tf.where(is_sound, each, tf.zeros_like(each)), measured
    )

  @tff.tensorflow.computation(
    alone_type,
    server_type,
    find_center.type_signature.result,
    measure.type_signature.result,
  )
  def find(alone, dataset, center, measured):
    x, _ = head.read_labels(dataset)
    own = components_lib.measure(x, center)
    # A few examples leave out most of the directions that tell classes apart.
    moments = tf.nest.map_structure(
      lambda ours, theirs: tf.where(measured.count < own.count, ours, theirs),
      own,
      measured,
    )
    found = components_lib.find(
      moments,
      tf.cast(center, tf.float64),
      labels_alone.varies(tf.cast(x, tf.float64)),
      alone.standardizes,
    )
    return found._replace(count=tf.cast(measured.count, tf.float64))

  def find_components(alone, server_data, client_data):
    center = tff.federated_map(find_center, server_data)
    measured = tff.federated_sum(
      tff.federated_map(measure, (client_data, tff.federated_broadcast(center)))
    )
    return tff.federated_map(find, (alone, server_data, center, measured))

  return find_components
