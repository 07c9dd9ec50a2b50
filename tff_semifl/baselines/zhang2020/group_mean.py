# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The arithmetic of averaging in groups, in plain TensorFlow.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  5 and 6.
"""

from typing import NamedTuple

import tensorflow as tf

# The trainable weights of one model, or of all groups' models, stacked along
# the first dimension.
Arrays = tuple[tf.Tensor, ...]


class GroupSums(NamedTuple):
  """Sums over the clients of each group.

  Attributes:
    update: Updates of the trainable weights times their weights, summed by
      group along the first dimension.
    weight: float32 [groups], the sum of the weights.
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
  """One client's contribution to the sums, 0 for other groups.

  Args:
    update: Received weights minus trained weights; zero if the client does not
      count.
    update_weight: float32 scalar, at least 0; the server's replica has 1.
    group: int32 scalar, the client's group.
  """
  weight = update_weight * tf.one_hot(group, num_groups)
  return GroupSums(
    update=tuple(tf.tensordot(weight, array, axes=0) for array in update),
    weight=weight,
  )


def average_groups(
  received: Arrays, sums: GroupSums, replicas: Arrays
) -> Arrays:
  """The weighted mean of each group's clients and replica, stacked."""

  def average(stacked, update, replica):
    shape = [-1] + [1] * (len(replica.shape) - 1)
    weight = tf.reshape(sums.weight, shape)
    return (replica + weight * stacked - update) / (weight + 1.0)

  return tuple(map(average, received, sums.update, replicas))
