# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""(FL)^2, semi-supervised federated learning with few labels: parts and system.

References:
  Lee, Le, Shin, Lee. (FL)^2: Overcoming few labels in federated semi-supervised
  learning. NeurIPS 2024.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.methods import fix_mix
from tff_semifl.methods import freematch
from tff_semifl.methods import sharpness_aware
from tff_semifl.systems import averaging
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassAdaptiveThresholds(client_parts.ClassThresholds):
  """Trains on images above the threshold of their class at this client."""

  def thresholds(
    self,
    client: hook_arguments.ClientContext,
    labels: pseudo_labels.PseudoLabels,
  ) -> tf.Tensor:
    """The thresholds from the client's own images, float32 [classes]."""
    del client
    return freematch.class_thresholds(
      pseudo_labels.mean_over_images(labels.confidences),
      pseudo_labels.mean_over_images(labels.probabilities),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharpnessAwareConsistency(client_parts.Regularizer):
  """Keeps predictions the same at weights of a higher loss."""

  perturbation_radius: float = settings.setting(
    0.1,
    'Radius of the perturbation of weights, relative to their size; 1 for'
    " CIFAR-100 in the paper's experiments.",
    settings.AT_LEAST_0,
  )
  consistency_weight: float = settings.setting(
    1.0,
    'Weight of the divergence of predictions at the perturbed weights from'
    ' those at the weights themselves.',
    settings.AT_LEAST_0,
  )
  consistency_threshold: float = settings.setting(
    0.95,
    'Least confidence of a pseudo-label that counts in the consistency loss and'
    ' in the perturbation.',
    settings.SHARE,
  )

  def loss(self, step: hook_arguments.Step) -> tf.Tensor:
    """The consistency loss of a batch, strongly augmented."""
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
  """Gives clients with less confident pseudo-labels more weight."""

  def weigh(self, client: hook_arguments.ClientContext) -> tf.Tensor:
    """1 minus the mean confidence, also for a client that trained on no image.

    0 for a client without images.
    """
    return pseudo_labels.mean_over_images(1.0 - client.labels.confidences)


FLFL = averaging.Alternating(
  client=fix_mix.Fix(
    selection=ClassAdaptiveThresholds(),
    regularizer=SharpnessAwareConsistency(),
    weighting=LearningStatus(),
  ),
  local_training=training_settings.ClientEpochs(client_batch_size=32),
)
