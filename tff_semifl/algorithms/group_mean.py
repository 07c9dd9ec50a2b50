# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The arithmetic of averaging in groups, plain TensorFlow (E.3).

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  5 and 6.
"""

from typing import NamedTuple

import tensorflow as tf

# Of trainable weights, or of several groups', stacked in the first dimension.
Arrays = tuple[tf.Tensor, ...]


class GroupSums(NamedTuple):
  """What clients hand in, in a form that can be added up.

  Attributes:
    update: Updates of the trainable weights, at the place of the client's group
      in the first dimension.
    num_clients: float32 [groups], likewise: 1 if the update counts, else 0.
  """

  update: Arrays
  num_clients: tf.Tensor


def hand_in(
  update: Arrays,
  update_weight: tf.Tensor,
  group: tf.Tensor,
  *,
  num_groups: int,
) -> GroupSums:
  """Returns what one client hands in.

  Args:
    update: Received weights minus trained ones; zero if it does not count.
    update_weight: float32 scalar, 1 or 0.
    group: int32 scalar, its group.
    num_groups: Number of groups.
  """
  is_group = tf.one_hot(group, num_groups)
  return GroupSums(
    update=tuple(tf.tensordot(is_group, array, axes=0) for array in update),
    num_clients=update_weight * is_group,
  )


def average_groups(
  received: Arrays, sums: GroupSums, replicas: Arrays
) -> Arrays:
  """Returns the mean of each group's clients and its replica, stacked.

  Args:
    received: What the clients of each group started from, stacked.
    sums: Of what clients handed in.
    replicas: What the server's replica for each group trained, stacked.
  """

  def average(stacked, update, replica):
    shape = [-1] + [1] * (len(replica.shape) - 1)
    num_clients = tf.reshape(sums.num_clients, shape)
    return (replica + num_clients * stacked - update) / (num_clients + 1.0)

  return tuple(map(average, received, sums.update, replicas))
