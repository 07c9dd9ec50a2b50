# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Distribution alignment by the predictions of cohorts.

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.

ReMixMatch averages predictions over steps in one place. Here the average is
over rounds and cohorts, and not over the images of one client, which may have
few of the classes.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.methods import cohort_averages
from tff_semifl.methods import distribution_alignment
from tff_semifl.models import functional
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(cohort_averages.Averaging, client_parts.Alignment):
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

  @property
  def decay(self) -> float:
    return self.alignment_decay

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> cohort_averages.Averages:
    num_classes = model.num_classes
    return {'class_shares': tf.fill([num_classes], 1.0 / num_classes)}

  def label(
    self, client: hook_arguments.ClientContext, logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    own = pseudo_labels.from_logits(logits)
    aligned = pseudo_labels.from_logits(
      distribution_alignment.align(
        logits,
        client.guidance['class_shares'],
        strength=self.alignment_strength,
      )
    )._replace(unaligned=own.probabilities)
    return aligned if self.align_labels else aligned._replace(labels=own.labels)

  def report(
    self, client: hook_arguments.ClientContext
  ) -> cohort_averages.Sums:
    return cohort_averages.sum_over_images(
      {'class_shares': client.labels.unaligned}
    )
