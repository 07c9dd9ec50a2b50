# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's client, which labels once a round, and FixMatch's client.

Table 2 of SemiFL compares the two clients.

References:
  Diao, Ding, Tarokh. SemiFL: Semi-supervised federated learning for unlabeled
  clients with alternate training. NeurIPS 2022. Section 3.4, Algorithm 1.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

# The usual arguments of hooks.
Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fix(method.Method):
  """Labels once a round with the received model; trains on confident images.

  The default parts give SemiFL without the mix loss (section 3.3).
  """

  selection: client_parts.Selection = client_parts.FixedThreshold()
  alignment: client_parts.Alignment | None = None
  regularizer: client_parts.Regularizer | None = None
  weighting: client_parts.Weighting | None = None

  def label(self, client: Client, state: Any) -> tuple[Labels, tf.Tensor]:
    del state
    labels = self.pseudo_label(client, client.logits())
    offset = self.logit_offset(client, labels)
    if offset is not None:
      labels = labels._replace(offset=offset)
    return labels, self.select(client, labels)

  def pseudo_label(self, client: Client, logits: tf.Tensor) -> Labels:
    """The pseudo-labels of images, from logits, float32 [images, classes]."""
    if self.alignment is None:
      return pseudo_labels.from_logits(logits)
    return self.alignment.label(client.of_part('alignment'), logits)

  def logit_offset(self, client: Client, labels: Labels) -> tf.Tensor | None:
    """The offset of logits in losses, float32 [classes]; by default None."""
    del client, labels
    return None

  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    return self.selection.select(client.of_part('selection'), labels)

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    del state
    total = self.fix_loss(step)
    if self.regularizer is None:
      return total
    further = self.regularizer.loss(step)
    return total if further is None else total + further

  def fix_loss(self, step: hook_arguments.Step) -> tf.Tensor:
    """The mean cross-entropy of strongly augmented images."""
    return step.cross_entropy(step.logits(step.strong))

  def weigh(self, client: Client) -> tf.Tensor:
    if self.weighting is None:
      return super().weigh(client)
    return self.weighting.weigh(client.of_part('weighting'))

  @property
  def parts(self) -> dict[str, client_parts.ClientPart]:
    """The parts other than None, by field name."""
    return {
      name: value
      for name, value in vars(self).items()
      if isinstance(value, client_parts.ClientPart)
    }

  @property
  def weighs_clients(self) -> bool:
    return self.weighting is not None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixMix(Fix):
  """SemiFL's client: labels once a round, then trains with mixup."""

  mixup_concentration: float = settings.setting(
    0.75, 'Both parameters of the Beta distribution of mixup.', settings.ABOVE_0
  )
  mix_loss_weight: float = settings.setting(
    1.0,
    'Weight of the loss of mixed images; 0 is training without mixup.',
    settings.AT_LEAST_0,
  )

  def fix_loss(self, step: hook_arguments.Step) -> tf.Tensor:
    """The fix loss plus the weighted mix loss (equations 5 and 6 of SemiFL)."""
    total = super().fix_loss(step)
    if self.mix_loss_weight:
      # In a separate forward pass, normalized by the mixed batch alone.
      total += self.mix_loss_weight * self.mix_loss(step)
    return total

  def mix_loss(self, step: hook_arguments.Step) -> tf.Tensor:
    """The mixup loss of the batch, mixed with the images of `step.mix`."""
    # SemiFL does not take max(x, 1 - x), unlike MixMatch.
    coefficient = random_draws.beta(
      1,
      step.seed(random_seeds.Purpose.MIXUP_COEFFICIENT),
      concentration=self.mixup_concentration,
    )[0]
    first, second = (
      tf.cast(images, tf.float32) for images in (step.weak, step.mix.weak)
    )
    mixture = coefficient * first + (1.0 - coefficient) * second
    logits = step.logits(mixture, dropout_key=1)
    own, other = (
      step.cross_entropy(logits, labels.labels)
      for labels in (step.labels, step.mix.labels)
    )
    return coefficient * own + (1.0 - coefficient) * other


SEMIFL = averaging.Alternating(client=FixMix())
PARALLEL_SEMIFL = averaging.Parallel(client=Fix())
SEMIFL_LABELED_CLIENTS = averaging.LabeledClients(client=FixMix())
SEMIFL_SERVER_AND_CLIENTS = averaging.AlternatingLabeledClients(client=FixMix())


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelEachBatch(method.Method):
  """Labels each weakly augmented batch with the model in training (FixMatch).

  As in the code of SemiFL's authors, static batch normalization uses statistics
  of the whole batch for labels, and of the selected images for training.
  """

  relabel = 'batch'

  confidence: training_settings.Confidence = training_settings.Confidence()

  def label(self, client: Client, state: Any) -> tuple[Labels, tf.Tensor]:
    del state
    labels = pseudo_labels.from_logits(client.logits())
    return labels, labels.confidences >= self.confidence.confidence_threshold

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    del state
    return step.cross_entropy(step.logits(step.strong))


BATCH_LABEL_SEMIFL = averaging.Alternating(client=LabelEachBatch())
FEDAVG_FIXMATCH = averaging.Parallel(client=LabelEachBatch())
FIXMATCH_LABELED_CLIENTS = averaging.LabeledClients(client=LabelEachBatch())
FEDRGD_AS_IN_SEMIFL = averaging.ParallelInTwoGroups(client=LabelEachBatch())
