# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FreeMatch's self-adaptive class thresholds.

References:
  Wang, Chen, Heng, Hou, Fan, Wu, Wang, Savvides, Shinozaki, Raj, Schiele, Xie.
  FreeMatch: Self-adaptive thresholding for semi-supervised learning. ICLR 2023.

FreeMatch averages over steps; here the averages are over rounds. Its fairness
loss is left out.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.methods import cohort_averages
from tff_semifl.models import functional


def class_thresholds(
  mean_confidence: tf.Tensor, class_shares: tf.Tensor
) -> tf.Tensor:
  """`mean_confidence * class_shares / max(class_shares)`, float32 [classes]."""
  return mean_confidence * tf.math.divide_no_nan(
    class_shares, tf.reduce_max(class_shares)
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FreeMatch(cohort_averages.Averaging, client_parts.ClassThresholds):
  """Trains on images above FreeMatch's threshold of their class."""

  threshold_decay: float = settings.setting(
    0.9,
    'Decay of the average confidence and class shares in a round; with 0'
    ' thresholds are those of the last round.',
    settings.BELOW_1,
  )

  @property
  def decay(self) -> float:
    return self.threshold_decay

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> cohort_averages.Averages:
    num_classes = model.num_classes
    return {
      'confidence': tf.constant(1.0 / num_classes),
      'class_shares': tf.fill([num_classes], 1.0 / num_classes),
    }

  def tell(
    self, kept: cohort_averages.Averages, server: hook_arguments.Server
  ) -> tf.Tensor:
    del server
    return class_thresholds(kept['confidence'], kept['class_shares'])

  def report(
    self, client: hook_arguments.ClientContext
  ) -> cohort_averages.Sums:
    return cohort_averages.sum_over_images(
      {
        'confidence': client.labels.confidences,
        'class_shares': client.labels.probabilities,
      }
    )
