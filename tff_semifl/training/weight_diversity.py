# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The diversity of the directions of a round's updates.

It is measured from two sums over clients. The larger of them has the size of
the last layer's kernel, however large the model is.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equation
  7; Figures 4, E.1 and G.1.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.models import functional


class UpdateSums(NamedTuple):
  """The report of a client, in a form that can be added up.

  Attributes:
    squared_length: float32 scalar, the squared length of the update of the
      classifier's kernel.
    update: float32, this update; a scalar 0 if nothing is to be measured.
  """

  squared_length: tf.Tensor
  update: tf.Tensor


def find_classifier_kernel(
  classifier: functional.ImageClassifier,
) -> int | None:
  """Finds the last layer's kernel among the trainable weights.

  Args:
    classifier: The model.

  Returns:
    Its index, or None if the model does not end with a dense layer.
  """
  trainable = classifier.initial_weights.trainable
  for index in reversed(range(len(trainable))):
    shape = trainable[index].shape
    if len(shape) == 2 and shape[1] == classifier.num_classes:
      return index
  return None


def update_sums(
  update: Sequence[tf.Tensor], kernel_index: int | None
) -> UpdateSums:
  """Returns the report of one client.

  Args:
    update: Received weights minus trained ones; zero if it does not count.
    kernel_index: From `find_classifier_kernel`, or None to measure nothing.

  Returns:
    The sums of this client alone.
  """
  kernel = tf.zeros([]) if kernel_index is None else update[kernel_index]
  return UpdateSums(tf.reduce_sum(tf.square(kernel)), kernel)


def measure(
  sums: UpdateSums, num_clients: tf.Tensor
) -> Mapping[str, tf.Tensor]:
  """Returns the weight diversity of equation 7, and relative to its least.

  Over the clients that count, of the classifier's kernel, from where each of
  them started (D51): the sum of the squared lengths of their updates, divided
  by the squared length of the sum of these. It is 1 for updates that are
  orthogonal to each other. For n clients with equal updates it is 1 / n;
  relative to this least value it is then 1, and more if updates differ. Both
  are not a number if no kernel was changed.

  Args:
    sums: The reports of all clients, added up.
    num_clients: float32 scalar, the number n of those that count.

  Returns:
    float32 scalars `weight_diversity` and `relative_weight_diversity`.
  """
  diversity = sums.squared_length / tf.reduce_sum(tf.square(sums.update))
  return collections.OrderedDict(
    weight_diversity=diversity,
    relative_weight_diversity=num_clients * diversity,
  )
