# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""(FL)^2: three parts of a client for few labels, and the system (G).

References:
  Lee, Le, Shin, Lee. (FL)^2: Overcoming few labels in federated semi-supervised
  learning. NeurIPS 2024.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import client_turn
from tff_semifl.methods import client_parts
from tff_semifl.methods import fix_mix
from tff_semifl.methods import freematch
from tff_semifl.methods import sharpness_aware
from tff_semifl.systems import averaging
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassAdaptiveThresholds(client_parts.ClassThresholds):
  """Trains on images above a threshold of their class at this client (G.2)."""

  def thresholds(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns the thresholds of the client's own images, float32 [classes]."""
    del turn  # The labels are all that matters.
    return freematch.class_thresholds(
      pseudo_labels.mean_over_images(labels.confidences),
      pseudo_labels.mean_over_images(labels.probabilities),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharpnessAwareConsistency(client_parts.Regularizer):
  """Keeps predictions as they are where the model moves up its loss (G.3)."""

  perturbation_radius: float = settings.setting(
    0.1,
    'How far the model is moved up its loss, in the size of its weights; the'
    ' paper has 1 for CIFAR-100 (FL2).',
    settings.AT_LEAST_0,
  )
  consistency_weight: float = settings.setting(
    1.0,
    'Factor on the divergence of predictions of the moved model from those of'
    ' the model itself.',
    settings.AT_LEAST_0,
  )
  consistency_threshold: float = settings.setting(
    0.95,
    'Probability from which on a pseudo-label counts in that loss, and in the'
    ' one that the model is moved up, whatever the threshold of training is.',
    settings.SHARE,
  )

  def loss(self, step: client_turn.Step) -> tf.Tensor:
    """Returns the loss of the strong views of a batch."""
    consistency = sharpness_aware.Consistency(
      radius=self.perturbation_radius,
      weight=self.consistency_weight,
      confidence_threshold=self.consistency_threshold,
    )
    return consistency.loss(
      step.weights,
      step.logits(step.strong),
      step.labels.labels,
      step.labels.confidences,
      *step.rows.weigh(),
      logits_fn=lambda weights: step.logits(step.strong, weights),
      names=step.model.trainable_names,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearningStatus(client_parts.Weighting):
  """Weighs clients more if the model is less sure of their images (G.4)."""

  def weigh(self, turn: client_turn.Turn) -> tf.Tensor:
    """Returns 1 minus the mean confidence; 0 without any image.

    A client that trained on no image counts, too (FL8).
    """
    return pseudo_labels.mean_over_images(1.0 - turn.labels.confidences)


FLFL = averaging.Alternating(
  client=fix_mix.Fix(
    selection=ClassAdaptiveThresholds(),
    regularizer=SharpnessAwareConsistency(),
    weighting=LearningStatus(),
  ),
  client_turn=training_settings.ClientEpochs(client_batch_size=32),
)
