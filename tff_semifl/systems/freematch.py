# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FreeMatch's self-adaptive threshold for each class (I.3).

References:
  Wang, Chen, Heng, Hou, Fan, Wu, Wang, Savvides, Shinozaki, Raj, Schiele, Xie.
  FreeMatch: Self-adaptive thresholding for semi-supervised learning. ICLR 2023.

FreeMatch averages over steps; here the averages are over rounds. FreeMatch's
fairness loss is left out.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl import settings
from tff_semifl.models import functional
from tff_semifl.systems import client_parts
from tff_semifl.systems import cohort_averages
from tff_semifl.work import guidance as guidance_lib


def class_thresholds(
  mean_confidence: tf.Tensor, class_shares: tf.Tensor
) -> tf.Tensor:
  """Returns the threshold of each class, lower where it is predicted less.

  Args:
    mean_confidence: float32 scalar, the mean confidence of images.
    class_shares: float32 [classes], the mean of their probabilities.

  Returns:
    float32 [classes]: the mean confidence for the most frequent class, and for
    others as much less as they are less frequent.
  """
  return mean_confidence * tf.math.divide_no_nan(
    class_shares, tf.reduce_max(class_shares)
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FreeMatch(client_parts.ClassThresholds):
  """Trains on images above FreeMatch's threshold of their class."""

  heeds_padding = True

  threshold_decay: float = settings.setting(
    0.9,
    'Share of the average confidence and of the average class shares that stays'
    ' in a round; with 0 thresholds are those of the last round.',
    settings.BELOW_1,
  )

  def build_guidance(
    self, classifier: functional.ImageClassifier
  ) -> guidance_lib.Guidance:
    """Builds the averages, and the thresholds that follow from them."""
    num_classes = classifier.num_classes
    return cohort_averages.build(
      lambda: {
        'confidence': tf.constant(1.0 / num_classes),
        'class_shares': tf.fill([num_classes], 1.0 / num_classes),
      },
      decay=self.threshold_decay,
      tell=lambda averages: class_thresholds(
        averages['confidence'], averages['class_shares']
      ),
    )

  def report(
    self, guidance: tf.Tensor, labels: pseudo_labels.PseudoLabels
  ) -> cohort_averages.Sums:
    """Returns sums of confidences and of probabilities."""
    del guidance  # The averages do not depend on the thresholds.
    return cohort_averages.sum_over_images(
      {'confidence': labels.confidences, 'class_shares': labels.probabilities}
    )
