# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FixMatch's client: it labels batch by batch, with the model in training.

Table 2 of SemiFL compares it with labels by the received model (D.3).
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.core import client_turn
from tff_semifl.systems import method
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelEachBatch(method.Method):
  """Labels each batch with the model that it trains, as FixMatch does.

  Those images of a batch are trained on, by a strong view, of whose weak view
  the model is sure, and the loss is a mean over them. A model with static batch
  normalization labels by the statistics of the batch's weak views, and trains
  by those of the strong views that are selected (D34).
  """

  relabel = 'batch'

  confidence: training_settings.Confidence = training_settings.Confidence()

  def label(
    self, turn: client_turn.Turn, state: Any
  ) -> tuple[pseudo_labels.PseudoLabels, tf.Tensor]:
    """Labels a batch, and selects the images that the model is sure of."""
    del state  # There is none.
    labels = pseudo_labels.from_logits(turn.logits())
    return labels, pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )

  def loss(self, step: client_turn.Step, state: Any) -> tf.Tensor:
    """Returns the mean cross-entropy of the strong views."""
    del state  # There is none.
    return step.cross_entropy(step.logits(step.strong))
