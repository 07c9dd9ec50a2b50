# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""(FL)^2 and its parts, and SemiFL's client with optional parts.

References:
  Lee, Le, Shin, Lee. (FL)^2: Overcoming few labels in federated semi-supervised
  learning. NeurIPS 2024.
  Kwon, Kim, Park, Choi. ASAM: Adaptive sharpness-aware minimization for
  scale-invariant learning of deep neural networks. ICML 2021.
  Berthelot et al. ReMixMatch. ICLR 2020 (distribution alignment).
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.settings import references

# Suffixes of additive weights (biases), whose size does not scale the output.
_BIAS_SUFFIXES = ('bias:0', 'beta:0')
# The least size of a weight in ASAM, which avoids division by 0.
_LEAST_SIZE = 0.01
_EPSILON = 1e-16


def _mean_over_images(values: tf.Tensor) -> tf.Tensor:
  """The mean over the first axis of float32 [num_images, ...]; 0 if empty."""
  return tf.math.divide_no_nan(
    tf.reduce_sum(values, axis=0), tf.cast(tf.shape(values)[0], tf.float32)
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassAdaptiveThresholds(client_parts.Selection):
  """Trains on images above a confidence threshold per client and class."""

  def select(
    self, client: client_parts.Client, labels: client_parts.Labels
  ) -> tf.Tensor:
    """Selects images by equations 7 to 9 of (FL)^2, bool [images]."""
    del client
    shares = _mean_over_images(labels.probabilities)
    thresholds = _mean_over_images(labels.confidences) * tf.math.divide_no_nan(
      shares, tf.reduce_max(shares)
    )
    return labels.confidences >= tf.gather(thresholds, labels.labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharpnessAwareConsistency(client_parts.Regularizer):
  """A consistency loss under adversarial perturbation of the weights."""

  perturbation_radius: float = settings.setting(
    0.1,
    'Radius of the perturbation of weights, relative to their size; 1 for'
    " CIFAR-100 in the paper's experiments.",
    settings.AT_LEAST_0,
  )
  consistency_weight: float = settings.setting(
    1.0,
    'Weight of the divergence between predictions with perturbed and with'
    ' unperturbed weights.',
    settings.AT_LEAST_0,
  )
  consistency_threshold: float = settings.setting(
    0.95,
    'Least confidence of pseudo-labels for the consistency loss and the'
    ' perturbation.',
    settings.SHARE,
  )

  def loss(self, step: hook_arguments.Step) -> tf.Tensor:
    """The loss of a batch (equations 12 and 13), 0 if no image is selected."""
    weights, labels = step.weights, step.labels
    logits = step.logits(step.strong)
    is_sure = step.rows.weigh(
      tf.cast(labels.confidences >= self.consistency_threshold, tf.float32)
    )
    share = tf.math.divide_no_nan(
      tf.cast(tf.size(is_sure), tf.float32), tf.reduce_sum(is_sure)
    )
    # `tf.gradients`, because nested tapes also prepare second derivatives.
    gradients = tf.gradients(
      losses.cross_entropy(logits, labels.labels, is_sure * share),
      list(weights.trainable),
    )
    steps = ascent(
      weights.trainable,
      gradients,
      names=step.model.trainable_names,
      radius=self.perturbation_radius,
    )
    moved = tuple(
      weight + tf.stop_gradient(change)
      for weight, change in zip(weights.trainable, steps, strict=True)
    )
    moved_logits = step.logits(step.strong, weights._replace(trainable=moved))
    return self.consistency_weight * losses.divergence(
      logits, moved_logits, is_sure
    )


def ascent(
  weights: Sequence[tf.Tensor],
  gradients: Sequence[tf.Tensor],
  *,
  names: Sequence[str],
  radius: float,
) -> list[tf.Tensor]:
  """ASAM's ascent step, of length `radius` relative to the size of the weights.

  Biases count as weights of size 1. If all gradients are zero, so is the step.
  `names` are `<layer>/<weight>:0`.
  """
  sizes = [
    tf.ones_like(weight)
    if name.endswith(_BIAS_SUFFIXES)
    else tf.abs(weight) + _LEAST_SIZE
    for weight, name in zip(weights, names, strict=True)
  ]
  scaled = [s * g for s, g in zip(sizes, gradients, strict=True)]
  length = radius / (tf.linalg.global_norm(scaled) + _EPSILON)
  return [s * g * length for s, g in zip(sizes, scaled, strict=True)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearningStatus(client_parts.Weighting):
  """Gives clients with less confident pseudo-labels more weight."""

  def weigh(self, client: hook_arguments.ClientContext) -> tf.Tensor:
    """1 minus mean confidence, counting 0 for true labels; 0 without images."""
    doubts = 1.0 - client.labels.confidences
    if client.true_labels is not None:
      doubts = tf.where(client.true_labels >= 0, 1.0, doubts)
    return _mean_over_images(doubts)


FLFL = averaging.Alternating(
  client=fix_mix.Fix(
    selection=ClassAdaptiveThresholds(),
    regularizer=SharpnessAwareConsistency(),
    weighting=LearningStatus(),
  ),
  local_training=training_settings.ClientEpochs(client_batch_size=32),
)


class Predictions(NamedTuple):
  """Sums over images, float32: probabilities, [classes], and a count."""

  probabilities: tf.Tensor
  num_images: tf.Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(client_parts.Alignment):
  """Aligns predictions to equal class shares over all clients.

  The server keeps a moving average of predictions, float32 [classes].
  """

  alignment_decay: float = settings.setting(
    0.9,
    'Decay per round of the average class shares; 0 keeps only the last round.',
    settings.BELOW_1,
  )

  def init_guidance(self, model: functional.ImageClassifier) -> tf.Tensor:
    return tf.fill([model.num_classes], 1.0 / model.num_classes)

  def label(
    self, client: client_parts.Client, logits: tf.Tensor
  ) -> client_parts.Labels:
    aligned = pseudo_labels.from_logits(
      client_prior.align(logits, client.guidance)
    )
    return aligned._replace(unaligned=tf.nn.softmax(logits))

  def guidance(
    self, kept: tf.Tensor, sums: Predictions, server: hook_arguments.Server
  ) -> tf.Tensor:
    del server
    mean = tf.math.divide_no_nan(sums.probabilities, sums.num_images)
    moved = self.alignment_decay * kept + (1.0 - self.alignment_decay) * mean
    return tf.where(sums.num_images > 0, moved, kept)

  def report(self, client: client_parts.Client) -> Predictions:
    found = client.labels.unaligned
    return Predictions(
      tf.reduce_sum(found, axis=0), tf.cast(tf.shape(found)[0], tf.float32)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionSelection(client_parts.Selection):
  """Trains on images that a user's function (client, labels) selects."""

  reference: str
  function: Callable[..., tf.Tensor]

  def select(
    self, client: client_parts.Client, labels: client_parts.Labels
  ) -> tf.Tensor:
    return self.function(client, labels)


def load_selection(reference: str) -> client_parts.Selection:
  """Loads a selection rule of another package: a `Selection` or a function."""
  found = references.load(reference)
  if isinstance(found, client_parts.Selection | type):
    return settings.outside(client_parts.Selection)(reference)
  references.check_callable(found, 'client', 'labels')
  return FunctionSelection(reference=reference, function=found)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComposedFixMix(fix_mix.FixMix):
  """SemiFL's client with parts of later methods, each chosen by name."""

  selection: client_parts.Selection = settings.choice(
    {
      'fixed_threshold': client_parts.FixedThreshold(),
      'class_adaptive': ClassAdaptiveThresholds(),
    },
    'fixed_threshold',
    'Selection of training images: fixed_threshold, those above a confidence;'
    ' class_adaptive of (FL)^2, a threshold for each class, by how often the'
    ' client predicts the class.',
    load=load_selection,
  )
  alignment: client_parts.Alignment | None = settings.choice(
    {'none': None, 'distribution': DistributionAlignment()},
    'none',
    'Alignment of predictions: none, or distribution, to equal class shares'
    ' over all clients.',
    load=settings.outside(client_parts.Alignment),
  )
  regularizer: client_parts.Regularizer | None = settings.choice(
    {'none': None, 'sharpness_aware': SharpnessAwareConsistency()},
    'none',
    'An additional loss of clients: none, or sharpness_aware, the consistency'
    ' of (FL)^2.',
    load=settings.outside(client_parts.Regularizer),
  )
  weighting: client_parts.Weighting | None = settings.choice(
    {'equal': None, 'learning_status': LearningStatus()},
    'equal',
    'Weights of the updates of clients that train: equal, or learning_status of'
    ' (FL)^2, which gives more weight where the model is less confident.',
    load=settings.outside(client_parts.Weighting),
  )


COMPOSED_SEMIFL = averaging.Alternating(client=ComposedFixMix())
