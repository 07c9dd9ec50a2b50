# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The principal components, found before the first round."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import linear_head


def build(
  head: linear_head.LinearHead,
  server_type: tff.SequenceType,
  client_type: tff.SequenceType,
  clients_give_components: bool,
) -> Callable[[Any, Any], Any]:
  """Builds a part of a federated computation.

  Args:
    head: Reads examples.
    server_type: The type of the server's data.
    client_type: The type of a client's data.
    clients_give_components: As in `process.build`.

  Returns:
    (server data, data of all clients) -> `components.Components` at the server.
    They are the server's own where clients have fewer examples than the server.
  """

  @tff.tensorflow.computation(client_type)
  def measure(dataset: tf.data.Dataset):
    x = head.read(dataset)
    if clients_give_components:
      return components_lib.measure(x)
    return tf.cast(tf.shape(x)[0], tf.float32)

  @tff.tensorflow.computation(server_type, measure.type_signature.result)
  def find(dataset, measured):
    x, _ = head.read_labels(dataset)
    own = components_lib.measure(x)

    def find_own(count: tf.Tensor) -> components_lib.Components:
      found = components_lib.find(own)
      return found._replace(count=tf.cast(count, tf.float64))

    if not clients_give_components:
      return find_own(measured)
    # A few examples leave out most of the directions that tell classes apart.
    return tf.cond(
      measured.count < own.count,
      lambda: find_own(measured.count),
      lambda: components_lib.find(measured),
    )

  def find_components(server_data, client_data):
    measured = tff.federated_sum(tff.federated_map(measure, client_data))
    return tff.federated_map(find, (server_data, measured))

  return find_components
