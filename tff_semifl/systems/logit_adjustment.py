# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Logit adjustment, so that clients do not unlearn classes they lack (I.6).

References:
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
  Zhang, Li, Li, Xu, Wu, Ding, Wu. Federated learning with label distribution
  skew via logits calibration. ICML 2022. Its clients know their labels.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl import settings
from tff_semifl.systems import client_parts
from tff_semifl.work import fix_mix_training


def class_shares(probabilities: tf.Tensor, pseudo_count: float) -> tf.Tensor:
  """Returns the shares of classes among the images of a client.

  Args:
    probabilities: float32 [images, classes]. There may be no image.
    pseudo_count: Images that are added, the same number of each class; above 0.

  Returns:
    float32 [classes], above 0, with sum 1.
  """
  num_images, num_classes = tf.unstack(
    tf.cast(tf.shape(probabilities), tf.float32)
  )
  return (tf.reduce_sum(probabilities, axis=0) + pseudo_count / num_classes) / (
    num_images + pseudo_count
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogitAdjustment(client_parts.Adjustment):
  """Adds the logarithms of a client's class shares to logits in its losses."""

  adjustment_strength: float = settings.setting(
    1.0,
    "Factor on the logarithms of a client's class shares that are added to"
    ' logits in its losses; 0 adds nothing.',
    settings.AT_LEAST_0,
  )
  adjustment_pseudo_count: float = settings.setting(
    10.0,
    'Images, the same number of each class, that are added to those of a client'
    ' to get its class shares.',
    settings.ABOVE_0,
  )

  @property
  def logit_offset_fn(self) -> fix_mix_training.LogitOffsetFn:
    """Returns the logarithms of class shares, times the strength."""

    def offset(
      guidance: object, labels: pseudo_labels.PseudoLabels
    ) -> tf.Tensor:
      del guidance  # The server does not know a client's classes.
      shares = class_shares(labels.probabilities, self.adjustment_pseudo_count)
      return self.adjustment_strength * tf.math.log(shares)

    return offset
