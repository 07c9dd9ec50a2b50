# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Distribution alignment by the predictions of cohorts (I.5).

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.

ReMixMatch averages over steps in one place. Here the average is over rounds and
cohorts, not over the images of a client, whose classes need not be equally
frequent.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import client_turn
from tff_semifl.methods import client_parts
from tff_semifl.methods import cohort_averages
from tff_semifl.methods import distribution_alignment
from tff_semifl.models import functional
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(cohort_averages.Averaging, client_parts.Alignment):
  """Aligns probabilities to classes that are equally frequent in all."""

  alignment_strength: float = settings.setting(
    1.0,
    'Power of the average class shares that probabilities are divided by; 0'
    ' leaves them as they are.',
    settings.FRACTION,
  )
  alignment_decay: float = settings.setting(
    0.9,
    'Share of the average class shares that stays in a round; with 0 they are'
    ' those of the last round.',
    settings.BELOW_1,
  )
  align_labels: bool = settings.setting(
    True,
    'Whether labels are the most probable classes after alignment; if not, only'
    ' their confidence is, as in the uniform alignment of SoftMatch.',
  )

  @property
  def decay(self) -> float:
    """The share of the averages that stays in a round."""
    return self.alignment_decay

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> cohort_averages.Averages:
    """Returns equal shares of all classes."""
    num_classes = model.num_classes
    return {'class_shares': tf.fill([num_classes], 1.0 / num_classes)}

  def label(
    self, turn: client_turn.Turn, logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    """Returns the labels of all images, by aligned probabilities."""
    own = pseudo_labels.from_logits(logits)
    aligned = pseudo_labels.from_logits(
      distribution_alignment.align(
        logits, turn.guidance['class_shares'], strength=self.alignment_strength
      )
    )._replace(unaligned=own.probabilities)
    return aligned if self.align_labels else aligned._replace(labels=own.labels)

  def report(self, turn: client_turn.Turn) -> cohort_averages.Sums:
    """Returns sums of the model's own probabilities."""
    return cohort_averages.sum_over_images(
      {'class_shares': turn.labels.unaligned}
    )
