# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The diversity of the clients' updates of the last layer in a round.

It is computed from two sums over clients, the larger of the size of the last
layer's kernel.

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
  """A client's contribution, to be summed over clients.

  `update` is that of the last layer's kernel, a scalar 0 if nothing is to be
  measured, and `squared_length` its squared length.
  """

  squared_length: tf.Tensor
  update: tf.Tensor


def find_classifier_kernel(
  classifier: functional.ImageClassifier,
) -> int | None:
  """The index of the last layer's kernel among the trainable weights.

  None if the model does not end with a dense layer.
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
  """The contribution of one client, of its update, zero if it has none."""
  kernel = tf.zeros([]) if kernel_index is None else update[kernel_index]
  return UpdateSums(tf.reduce_sum(tf.square(kernel)), kernel)


def measure(
  sums: UpdateSums, num_clients: tf.Tensor
) -> Mapping[str, tf.Tensor]:
  """The weight diversity of equation 7 of Zhang et al., absolute and relative.

  For the updates d_i of the n clients that count:

      weight_diversity          = sum |d_i|^2 / |sum d_i|^2
      relative_weight_diversity = n * weight_diversity

  For equal updates these are 1 / n and 1, the least values; for orthogonal
  updates 1 and n. Both are NaN if no kernel changed.
  """
  diversity = sums.squared_length / tf.reduce_sum(tf.square(sums.update))
  return collections.OrderedDict(
    weight_diversity=diversity,
    relative_weight_diversity=num_clients * diversity,
  )
