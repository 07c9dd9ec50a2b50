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
  """

  @tff.tensorflow.computation(client_type)
  def measure(dataset: tf.data.Dataset):
    x = head.read(dataset)
    if clients_give_components:
      return components_lib.measure(x)
    return tf.cast(tf.shape(x)[0], tf.float32)

  @tff.tensorflow.computation(server_type, measure.type_signature.result)
  def find(dataset, measured):
    if clients_give_components:
      return components_lib.find(measured)
    x, _ = head.read_labels(dataset)
    found = components_lib.find(components_lib.measure(x))
    return found._replace(count=tf.cast(measured, tf.float64))

  def find_components(server_data, client_data):
    measured = tff.federated_sum(tff.federated_map(measure, client_data))
    return tff.federated_map(find, (server_data, measured))

  return find_components
