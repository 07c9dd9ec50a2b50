# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FixMatch's client: labels batch by batch, with the model in training.

Table 2 of SemiFL compares it with labels by the received model.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.systems import averaging
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelEachBatch(method.Method):
  """Labels each batch with the model in training, as FixMatch does.

  Weakly augmented images are labeled; those with a confident label are trained
  on, strongly augmented, and the loss is the mean over these. As in the code of
  SemiFL's authors, a model with static batch normalization labels by the
  statistics of the whole batch and trains by those of the selected images.
  """

  relabel = 'batch'

  confidence: training_settings.Confidence = training_settings.Confidence()

  def label(
    self, client: hook_arguments.ClientContext, state: Any
  ) -> tuple[pseudo_labels.PseudoLabels, tf.Tensor]:
    del state
    labels = pseudo_labels.from_logits(client.logits())
    return labels, pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    del state
    return step.cross_entropy(step.logits(step.strong))


BATCH_LABEL_SEMIFL = averaging.Alternating(client=LabelEachBatch())
FEDAVG_FIXMATCH = averaging.Parallel(client=LabelEachBatch())
FEDRGD_AS_IN_SEMIFL = averaging.ParallelInTwoGroups(client=LabelEachBatch())
