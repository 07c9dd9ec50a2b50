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
    update: Updates of the trainable weights times their weight, at the place of
      the client's group in the first dimension.
    weight: float32 [groups], likewise the update's weight.
  """

  update: Arrays
  weight: tf.Tensor


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
    update_weight: float32 scalar, at least 0; the server's replica weighs 1.
    group: int32 scalar, its group.
    num_groups: Number of groups.
  """
  weight = update_weight * tf.one_hot(group, num_groups)
  return GroupSums(
    update=tuple(tf.tensordot(weight, array, axes=0) for array in update),
    weight=weight,
  )


def average_groups(
  received: Arrays, sums: GroupSums, replicas: Arrays
) -> Arrays:
  """Returns the weighted mean of each group's clients and replica, stacked.

  Args:
    received: What the clients of each group started from, stacked.
    sums: Of what clients handed in.
    replicas: What the server's replica for each group trained, stacked.
  """

  def average(stacked, update, replica):
    shape = [-1] + [1] * (len(replica.shape) - 1)
    weight = tf.reshape(sums.weight, shape)
    return (replica + weight * stacked - update) / (weight + 1.0)

  return tuple(map(average, received, sums.update, replicas))
