# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Distribution alignment and FlexMatch's thresholds, by sums over cohorts.

The published methods average over the steps of one trainer, and FlexMatch
remembers the last confident label of each image. Here clients report sums over
their images, which secure aggregation can add.

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.
  Zhang, Wang, Hou, Wu, Wang, Okumura, Shinozaki. FlexMatch: Boosting
  semi-supervised learning with curriculum pseudo labeling. NeurIPS 2021.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional

Client = client_parts.Client
Labels = client_parts.Labels

# From FixMatch's code: bounds the factor of a class that is never predicted.
_EPSILON = 1e-6


def align(
  logits: tf.Tensor,
  predicted: tf.Tensor,
  wanted: tf.Tensor | None = None,
  *,
  strength: float = 1.0,
) -> tf.Tensor:
  """Logits of the probabilities times `(wanted / predicted) ** strength`.

  `predicted` is the mean of the model's predictions, float32 [classes].
  `wanted` are class shares, by default equal.
  """
  excess = tf.math.log(predicted + _EPSILON)
  if wanted is not None:
    excess -= tf.math.log(wanted + _EPSILON)
  return logits - strength * excess


class Predictions(NamedTuple):
  """Sums over images, float32: probabilities, [classes], and a count."""

  probabilities: tf.Tensor
  num_images: tf.Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(client_parts.Alignment):
  """Aligns predictions to equal class shares over all clients.

  The server keeps a moving average of predictions, float32 [classes].
  """

  alignment_strength: float = settings.setting(
    1.0,
    'Exponent of the average class shares by which probabilities are divided;'
    ' 0 leaves probabilities as they are.',
    settings.FRACTION,
  )
  alignment_decay: float = settings.setting(
    0.9,
    'Decay of the average class shares in a round; with 0 they are those of the'
    ' last round.',
    settings.BELOW_1,
  )

  def init_guidance(self, model: functional.ImageClassifier) -> tf.Tensor:
    return tf.fill([model.num_classes], 1.0 / model.num_classes)

  def label(self, client: Client, logits: tf.Tensor) -> Labels:
    aligned = align(logits, client.guidance, strength=self.alignment_strength)
    return pseudo_labels.from_logits(aligned)._replace(
      unaligned=tf.nn.softmax(logits)
    )

  def guidance(
    self, kept: tf.Tensor, sums: Predictions, server: hook_arguments.Server
  ) -> tf.Tensor:
    del server
    mean = tf.math.divide_no_nan(sums.probabilities, sums.num_images)
    moved = self.alignment_decay * kept + (1.0 - self.alignment_decay) * mean
    return tf.where(sums.num_images > 0, moved, kept)

  def report(self, client: Client) -> Predictions:
    found = client.labels.unaligned
    return Predictions(
      tf.reduce_sum(found, axis=0), tf.cast(tf.shape(found)[0], tf.float32)
    )


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

  def report(self, client: Client) -> LabelCounts:
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
