# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Logit adjustment, so that clients do not unlearn classes they lack.

References:
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
  Zhang, Li, Li, Xu, Wu, Ding, Wu. Federated learning with label distribution
  skew via logits calibration. ICML 2022. Its clients know their labels.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.methods import client_prior
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogitAdjustment(client_parts.Adjustment):
  """Adds the logarithms of a client's class shares to logits in its losses."""

  adjustment_strength: float = settings.setting(
    1.0,
    "Weight of the logarithms of a client's class shares that are added to"
    ' logits in its losses; 0 adds nothing.',
    settings.AT_LEAST_0,
  )
  adjustment_pseudo_count: float = settings.setting(
    10.0,
    'Number of images, the same of each class, that are added to those of a'
    ' client for its class shares.',
    settings.ABOVE_0,
  )

  def logit_offset(
    self,
    client: hook_arguments.ClientContext,
    labels: pseudo_labels.PseudoLabels,
  ) -> tf.Tensor:
    del client
    num_classes = tf.shape(labels.probabilities)[1]
    shares = client_prior.from_probabilities(
      labels.probabilities,
      tf.fill([num_classes], 1.0 / tf.cast(num_classes, tf.float32)),
      self.adjustment_pseudo_count,
    )
    return self.adjustment_strength * tf.math.log(shares)
