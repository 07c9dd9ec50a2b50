# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The arithmetic of averaging in groups, plain TensorFlow (E.3, E.5).

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  5 to 7.
"""

import collections
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.models import functional

# Of trainable weights, or of several groups', stacked in the first dimension.
Arrays = tuple[tf.Tensor, ...]


class GroupSums(NamedTuple):
  """What clients hand in, in a form that can be added up.

  Attributes:
    update: Updates of the trainable weights, at the place of the client's group
      in the first dimension.
    num_clients: float32 [groups], likewise: 1 if the update counts, else 0.
    squared_length: float32, of the update of the classifier's kernel.
    kernel_update: That update.
  """

  update: Arrays
  num_clients: tf.Tensor
  squared_length: tf.Tensor
  kernel_update: tf.Tensor


def hand_in(
  update: Arrays,
  update_weight: tf.Tensor,
  group: tf.Tensor,
  *,
  num_groups: int,
  kernel_index: int,
) -> GroupSums:
  """Returns what one client hands in.

  Args:
    update: Received weights minus trained ones; zero if it does not count.
    update_weight: float32 scalar, 1 or 0.
    group: int32 scalar, its group.
    num_groups: Number of groups.
    kernel_index: From `find_classifier_kernel`.
  """
  is_group = tf.one_hot(group, num_groups)
  return GroupSums(
    update=tuple(tf.tensordot(is_group, array, axes=0) for array in update),
    num_clients=update_weight * is_group,
    squared_length=tf.reduce_sum(tf.square(update[kernel_index])),
    kernel_update=update[kernel_index],
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


def measure_diversity(sums: GroupSums) -> Mapping[str, tf.Tensor]:
  """Returns the weight diversity of equation 7, and relative to its least.

  Over the clients that count, of the classifier's kernel, from where each of
  them started (D51): the sum of the squared lengths of their updates, divided
  by the squared length of the sum of these. Of n clients with equal updates it
  is 1 / n, so that n times as much is 1 then, and more if updates differ.
  Without clients both are 0.

  Args:
    sums: Of what clients handed in.
  """
  diversity = tf.math.divide_no_nan(
    sums.squared_length, tf.reduce_sum(tf.square(sums.kernel_update))
  )
  return collections.OrderedDict(
    weight_diversity=diversity,
    relative_weight_diversity=diversity * tf.reduce_sum(sums.num_clients),
  )


def find_classifier_kernel(classifier: functional.ImageClassifier) -> int:
  """Returns which of the trainable weights is the last layer's kernel.

  Raises:
    ValueError: If the model does not end with a dense layer.
  """
  for index, array in reversed(
    [*enumerate(classifier.initial_weights.trainable)]
  ):
    if array.ndim == 2 and array.shape[1] == classifier.num_classes:
      return index
  raise ValueError(
    'The model has no dense layer for its classes, whose updates could be'
    ' compared.'
  )
