# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SoftMatch's weights of images by their confidence.

References:
  Chen, Tao, Fan, Wang, Wang, Schiele, Xie, Raj, Savvides. SoftMatch: Addressing
  the quantity-quality trade-off in semi-supervised learning. ICLR 2023.

SoftMatch averages over steps; here the averages are over rounds. Its uniform
alignment is `DistributionAlignment(align_labels=False)`.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.methods import cohort_averages
from tff_semifl.models import functional
from tff_semifl.training import pseudo_labels


def image_weights(
  confidences: tf.Tensor,
  mean: tf.Tensor,
  variance: tf.Tensor,
  num_deviations: float,
) -> tf.Tensor:
  """The weight of each image, a truncated Gaussian of its confidence.

  1 for confidences c from the mean on, otherwise
  exp(-(c - mean)^2 / (2 variance / num_deviations^2)).
  """
  below = tf.maximum(mean - confidences, 0.0)
  width = variance / num_deviations**2
  # Without variance, only rounding puts a confidence below the mean.
  return tf.exp(-tf.math.divide_no_nan(below**2, 2.0 * width))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoftMatch(cohort_averages.Averaging, client_parts.Selection):
  """Trains on all images, weighted by SoftMatch's truncated Gaussian."""

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

  @property
  def decay(self) -> float:
    return self.softness_decay

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> cohort_averages.Averages:
    return {
      'confidence': tf.constant(1.0 / model.num_classes),
      'variance': tf.constant(1.0),
    }

  def measure(self, sums: cohort_averages.Sums) -> cohort_averages.Averages:
    return {
      'confidence': cohort_averages.means(sums)['confidence'],
      'variance': cohort_averages.unbiased_variance(
        sums, 'confidence', 'square'
      ),
    }

  def select(
    self,
    client: hook_arguments.ClientContext,
    labels: pseudo_labels.PseudoLabels,
  ) -> tf.Tensor:
    return image_weights(
      labels.confidences,
      client.guidance['confidence'],
      client.guidance['variance'],
      self.num_deviations,
    )

  def report(
    self, client: hook_arguments.ClientContext
  ) -> cohort_averages.Sums:
    confidences = client.labels.confidences
    return cohort_averages.sum_over_images(
      {'confidence': confidences, 'square': confidences**2}
    )
