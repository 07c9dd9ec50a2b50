# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Class prototypes: clients train on images near the prototype of their label.

The prototype of a class is the mean feature of the images with this
pseudo-label, from the last round that had such images.

  python -m launch.train examples.prototypes:PROTOTYPES

References:
  Tan, Long, Liu, Zhou, Lu, Jiang, Zhang. FedProto: Federated prototype learning
  across heterogeneous clients. AAAI 2022.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrototypeFixMix(sfl.FixMix):
  """SemiFL's client, which also selects images by prototypes."""

  def init_guidance(self, model: sfl.ImageClassifier) -> Any:
    """Zeros: the initial feature sums and image counts of the classes."""
    size = sfl.require_features(model.features).size
    return {
      'sums': tf.zeros([model.num_classes, size]),
      'counts': tf.zeros([model.num_classes]),
    }

  def guidance(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    """The sums of the last round; classes without images keep older sums."""
    del server
    is_new = sums['counts'] > 0
    return {
      'sums': tf.where(is_new[:, tf.newaxis], sums['sums'], kept['sums']),
      'counts': tf.where(is_new, sums['counts'], kept['counts']),
    }

  def select(
    self, client: sfl.ClientContext, labels: sfl.PseudoLabels
  ) -> tf.Tensor:
    """Selects confident images with the label of the nearest prototype."""
    counts = client.guidance['counts'][:, tf.newaxis]
    means = client.guidance['sums'] / tf.maximum(counts, 1.0)
    distances = tf.norm(client.features()[:, tf.newaxis] - means, axis=-1)
    nearest = tf.argmin(distances, axis=-1, output_type=tf.int32)
    agrees = tf.equal(nearest, labels.labels) | ~tf.reduce_all(counts > 0)
    return super().select(client, labels) & agrees

  def report(self, client: sfl.ClientContext, state: Any) -> Any:
    """The sum of features and the number of images of each class."""
    del state
    classes = tf.one_hot(client.labels.labels, client.num_classes)
    return {
      'sums': tf.matmul(classes, client.features(), transpose_a=True),
      'counts': tf.reduce_sum(classes, axis=0),
    }


PROTOTYPES = sfl.Alternating(client=PrototypeFixMix())
