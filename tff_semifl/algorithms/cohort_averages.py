# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FreeMatch, SoftMatch and distribution alignment, by averages over cohorts.

The published methods average over the steps of one trainer. Here averages are
over rounds and all images of cohorts. Clients report sums over their images, so
that secure aggregation can hide the sums of a single client.

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.
  Chen, Tao, Fan, Wang, Wang, Schiele, Xie, Raj, Savvides. SoftMatch: Addressing
  the quantity-quality trade-off in semi-supervised learning. ICLR 2023.
  Wang, Chen, Heng, Hou, Fan, Wu, Wang, Savvides, Shinozaki, Raj, Schiele, Xie.
  FreeMatch: Self-adaptive thresholding for semi-supervised learning. ICLR 2023.
"""

from collections.abc import Mapping
import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.core import hook_arguments
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional

Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels
Sums = Mapping[str, tf.Tensor]
Averages = Mapping[str, tf.Tensor]

_COUNT = 'num_images'
# From FixMatch's code: bounds the factor of a class that is never predicted.
_EPSILON = 1e-6


def sum_over_images(values: Mapping[str, tf.Tensor]) -> Sums:
  """The sums over a client's images, axis 0, and the number of images."""
  (any_values, *_) = values.values()
  sums = {name: tf.reduce_sum(each, axis=0) for name, each in values.items()}
  return sums | {_COUNT: tf.cast(tf.shape(any_values)[0], tf.float32)}


def means(sums: Sums) -> dict[str, tf.Tensor]:
  """The means over the images of a cohort; 0 without images."""
  return {
    name: tf.math.divide_no_nan(each, sums[_COUNT])
    for name, each in sums.items()
    if name != _COUNT
  }


def move(
  kept: Averages, sums: Sums, measured: Averages, decay: float
) -> dict[str, tf.Tensor]:
  """The moving averages; unchanged if clients labeled no image in a round."""
  return {
    name: tf.where(
      sums[_COUNT] > 0,
      decay * average + (1.0 - decay) * measured[name],
      average,
    )
    for name, average in kept.items()
  }


def class_thresholds(
  mean_confidence: tf.Tensor, class_shares: tf.Tensor
) -> tf.Tensor:
  """`mean_confidence * class_shares / max(class_shares)`, float32 [classes]."""
  return mean_confidence * tf.math.divide_no_nan(
    class_shares, tf.reduce_max(class_shares)
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FreeMatch(client_parts.ClassThresholds):
  """Trains on images above FreeMatch's threshold of their class.

  FreeMatch's fairness loss is left out.
  """

  threshold_decay: float = settings.setting(
    0.9,
    'Decay of the average confidence and class shares in a round; with 0'
    ' thresholds are those of the last round.',
    settings.BELOW_1,
  )

  def init_guidance(self, model: functional.ImageClassifier) -> Averages:
    num_classes = model.num_classes
    return {
      'confidence': tf.constant(1.0 / num_classes),
      'class_shares': tf.fill([num_classes], 1.0 / num_classes),
    }

  def tell(self, kept: Averages, server: hook_arguments.Server) -> tf.Tensor:
    del server
    return class_thresholds(kept['confidence'], kept['class_shares'])

  def guidance(
    self, kept: Averages, sums: Sums, server: hook_arguments.Server
  ) -> Averages:
    del server
    return move(kept, sums, means(sums), self.threshold_decay)

  def report(self, client: Client) -> Sums:
    return sum_over_images(
      {
        'confidence': client.labels.confidences,
        'class_shares': client.labels.probabilities,
      }
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoftMatch(client_parts.Selection):
  """Trains on all images, weighted by SoftMatch's truncated Gaussian.

  The weight of a confidence c is 1 if c >= mean, otherwise
  exp(-(c - mean)^2 / (2 variance / num_deviations^2)).

  Its uniform alignment is `DistributionAlignment(align_labels=False)`.
  """

  softness_decay: float = settings.setting(
    0.9,
    'Decay of the average confidence and of its variance in a round; with 0'
    ' weights follow from the last round alone.',
    settings.BELOW_1,
  )
  num_deviations: float = settings.setting(
    2.0,
    'How fast weights fall below the average confidence: at one standard'
    ' deviation below it to exp(-n^2 / 2), with n this number.',
    settings.ABOVE_0,
  )

  def init_guidance(self, model: functional.ImageClassifier) -> Averages:
    return {
      'confidence': tf.constant(1.0 / model.num_classes),
      'variance': tf.constant(1.0),
    }

  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    below = tf.maximum(client.guidance['confidence'] - labels.confidences, 0.0)
    width = client.guidance['variance'] / self.num_deviations**2
    # Without variance, only rounding puts a confidence below the mean.
    return tf.exp(-tf.math.divide_no_nan(below**2, 2.0 * width))

  def guidance(
    self, kept: Averages, sums: Sums, server: hook_arguments.Server
  ) -> Averages:
    del server
    count, measured = sums[_COUNT], means(sums)
    biased = measured['square'] - measured['confidence'] ** 2
    measured['variance'] = tf.maximum(biased, 0.0) * tf.math.divide_no_nan(
      count, count - 1.0
    )
    return move(kept, sums, measured, self.softness_decay)

  def report(self, client: Client) -> Sums:
    confidences = client.labels.confidences
    return sum_over_images(
      {'confidence': confidences, 'square': confidences**2}
    )


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(client_parts.Alignment):
  """Aligns predictions to equal class shares over all clients."""

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
  align_labels: bool = settings.setting(
    True,
    'Whether alignment changes the pseudo-label; if not, it changes only the'
    ' confidence, as the uniform alignment of SoftMatch does.',
  )

  def init_guidance(self, model: functional.ImageClassifier) -> Averages:
    num_classes = model.num_classes
    return {'class_shares': tf.fill([num_classes], 1.0 / num_classes)}

  def label(self, client: Client, logits: tf.Tensor) -> Labels:
    own = pseudo_labels.from_logits(logits)
    aligned = pseudo_labels.from_logits(
      align(
        logits,
        client.guidance['class_shares'],
        strength=self.alignment_strength,
      )
    )._replace(unaligned=own.probabilities)
    return aligned if self.align_labels else aligned._replace(labels=own.labels)

  def guidance(
    self, kept: Averages, sums: Sums, server: hook_arguments.Server
  ) -> Averages:
    del server
    return move(kept, sums, means(sums), self.alignment_decay)

  def report(self, client: Client) -> Sums:
    return sum_over_images({'class_shares': client.labels.unaligned})
