# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FlexMatch's class thresholds, from how often each class was labeled.

References:
  Zhang, Wang, Hou, Wu, Wang, Okumura, Shinozaki. FlexMatch: Boosting
  semi-supervised learning with curriculum pseudo labeling. NeurIPS 2021.

FlexMatch remembers the last confident label of each image. Here the server
keeps the label counts of the last round in which clients labeled any image;
secure aggregation can sum such counts.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional


class LabelCounts(NamedTuple):
  """Counts of the labels of a round, summed over its clients, float32.

  `of_class` counts the images of each class with a confidence at or above the
  threshold; `of_none` counts the images below the threshold.
  """

  of_class: tf.Tensor
  of_none: tf.Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlexMatch(client_parts.ClassThresholds):
  """Trains on images above FlexMatch's threshold of their class.

  The threshold of a class is `confidence_threshold * b / (2 - b)`, with b the
  count of the class divided by the largest of all counts, including `of_none`:
  FlexMatch's convex mapping with threshold warm-up. Without counts thresholds
  are 0. The server keeps counts.
  """

  confidence: training_settings.Confidence = training_settings.Confidence()

  def init_guidance(self, model: functional.ImageClassifier) -> LabelCounts:
    return LabelCounts(tf.zeros([model.num_classes]), tf.zeros([]))

  def tell(self, kept: LabelCounts, server: hook_arguments.Server) -> tf.Tensor:
    del server
    most = tf.maximum(tf.reduce_max(kept.of_class), kept.of_none)
    learned = tf.math.divide_no_nan(kept.of_class, most)
    return self.confidence.confidence_threshold * learned / (2.0 - learned)

  def guidance(
    self, kept: LabelCounts, sums: LabelCounts, server: hook_arguments.Server
  ) -> LabelCounts:
    del server
    any_image = tf.reduce_sum(sums.of_class) + sums.of_none > 0
    return tf.nest.map_structure(
      lambda new, old: tf.where(any_image, new, old), sums, kept
    )

  def report(self, client: hook_arguments.ClientContext) -> LabelCounts:
    labels = client.labels
    is_confident = pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )
    # `tf.one_hot` makes zeros of -1.
    chosen = tf.one_hot(
      tf.where(is_confident, labels.labels, -1), client.num_classes
    )
    return LabelCounts(
      tf.reduce_sum(chosen, axis=0),
      tf.reduce_sum(tf.cast(~is_confident, tf.float32)),
    )


FLEXMATCH_SEMIFL = averaging.Alternating(
  client=fix_mix.FixMix(selection=FlexMatch())
)
