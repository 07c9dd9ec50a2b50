# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Class prototypes by EM: a mixture of Gaussians on features, one per class.

  python -m launch.train examples.em_prototypes:EM_PROTOTYPES --model=linear

The gain from EM is largest with few labels, such as --num_labeled=20.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


def add_up(features: tf.Tensor, shares: tf.Tensor) -> dict[str, tf.Tensor]:
  """The sums for the M step; `shares` are class probabilities of images."""
  sums = tf.matmul(shares, features, transpose_a=True)
  counts, squares = tf.reduce_sum(shares, axis=0), tf.reduce_sum(features**2)
  return {'counts': counts, 'squares': squares, 'sums': sums}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMPrototypes(sfl.Method):
  """Clients do the E step; the server adds its labels, and does the M step."""

  def report(self, client: sfl.ClientContext, state: Any) -> Any:
    return add_up(client.features(), tf.nn.softmax(client.logits()))

  def update(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    features = sfl.require_features(server.model.features)

    def add(sums: Any, chunk: Any) -> Any:
      x = features.infer(server.weights, tf.cast(chunk['image'], tf.float32))
      shares = tf.one_hot(chunk['label'], server.model.num_classes)
      return tf.nest.map_structure(tf.add, sums, add_up(x, shares))

    counts, squares, sums = server.data.reduce(sums, add).values()
    means = tf.math.divide_no_nan(sums, counts[:, tf.newaxis])
    lengths = tf.reduce_sum(means**2, axis=1)
    variance = squares - tf.reduce_sum(counts * lengths)
    variance /= features.size * tf.reduce_sum(counts)
    # With a label per class there is no variance. Classes have equal shares.
    kernel, bias = tf.transpose(means), -lengths / 2
    last = [each / tf.maximum(variance, 1e-3) for each in (kernel, bias)]
    trainable = (*server.weights.trainable[:-2], *last)
    return server.weights._replace(trainable=trainable)


EM_PROTOTYPES = sfl.FromSums(client=EMPrototypes())
