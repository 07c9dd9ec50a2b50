# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FlexMatch's threshold for each class, of how often it was labeled (I.2).

References:
  Zhang, Wang, Hou, Wu, Wang, Okumura, Shinozaki. FlexMatch: Boosting
  semi-supervised learning with curriculum pseudo labeling. NeurIPS 2021.

FlexMatch remembers the last sure label of each image. Across clients that would
be a memory of each image; here the server has counts instead, those of the last
round in which clients labeled any image, which can be aggregated securely.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.core import client_turn
from tff_semifl.methods import client_parts
from tff_semifl.models import functional
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


class LabelCounts(NamedTuple):
  """The labels of a round, added up over its clients.

  Attributes:
    of_class: float32 [classes], images that were labeled with each class at
      the confidence threshold or above.
    of_none: float32 scalar, images below it.
  """

  of_class: tf.Tensor
  of_none: tf.Tensor


def count(labels: pseudo_labels.PseudoLabels, threshold: float) -> LabelCounts:
  """Counts the labels of a client's images."""
  is_confident = pseudo_labels.is_confident(labels, threshold)
  num_classes = tf.shape(labels.probabilities)[1]
  # There is no class -1, of which `tf.one_hot` makes zeros.
  chosen = tf.one_hot(tf.where(is_confident, labels.labels, -1), num_classes)
  return LabelCounts(
    tf.reduce_sum(chosen, axis=0),
    tf.reduce_sum(tf.cast(~is_confident, tf.float32)),
  )


def class_thresholds(counts: LabelCounts, threshold: float) -> tf.Tensor:
  """Returns the threshold of each class, lower where it is learned less.

  With b, the count of a class over the largest of all counts, that of unsure
  images included, it is `threshold * b / (2 - b)`: the convex mapping, with the
  warm-up. Before any count all are 0, and all labels are trained on.

  Args:
    counts: Those of an earlier round.
    threshold: The highest, tau.

  Returns:
    float32 [classes], in 0..`threshold`.
  """
  most = tf.maximum(tf.reduce_max(counts.of_class), counts.of_none)
  learned = tf.math.divide_no_nan(counts.of_class, most)
  return threshold * learned / (2.0 - learned)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlexMatch(client_parts.ClassThresholds):
  """Trains on images above FlexMatch's threshold of their class.

  `confidence_threshold` is the highest of them. The server keeps counts.
  """

  confidence: training_settings.Confidence = training_settings.Confidence()

  def init_guidance(self, model: functional.ImageClassifier) -> LabelCounts:
    """Returns counts of no label."""
    return LabelCounts(tf.zeros([model.num_classes]), tf.zeros([]))

  def tell(self, kept: LabelCounts, server: client_turn.Server) -> tf.Tensor:
    """Returns the thresholds."""
    del server  # Counts are all that matters.
    return class_thresholds(kept, self.confidence.confidence_threshold)

  def guidance(
    self, kept: LabelCounts, sums: LabelCounts, server: client_turn.Server
  ) -> LabelCounts:
    """Returns the counts of the last round with any label."""
    del server  # Counts are all that matters.
    any_image = tf.reduce_sum(sums.of_class) + sums.of_none > 0
    return tf.nest.map_structure(
      lambda new, old: tf.where(any_image, new, old), sums, kept
    )

  def report(self, turn: client_turn.Turn) -> LabelCounts:
    """Returns the counts of the client's labels."""
    return count(turn.labels, self.confidence.confidence_threshold)
