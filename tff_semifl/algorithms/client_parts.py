# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of a client that labels its images once, as in SemiFL.

Each part is a field of `fix_mix.Fix`; None means as in SemiFL. All parts can be
combined. A part may keep a state at the server, updated by sums over clients'
images, which secure aggregation can add.

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020.
"""

import abc
from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.settings import references

# The usual arguments of hooks.
Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels

# As in FixMatch's code; bounds the factor of a class that is never predicted.
_EPSILON = 1e-6


class ClientPart(method.Guiding, settings.Settings):
  """Base of the parts; `client.guidance` is the server's message."""

  def report(self, client: Client) -> Any:
    """The sums over the client's images, for `guidance`; () for no sums."""
    del client
    return ()


class Selection(ClientPart, abc.ABC):
  """Base of the rules that select the images to train on."""

  @abc.abstractmethod
  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    """Selected images, bool [images], or weights, float32 [images], >= 0."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedThreshold(Selection):
  """Trains on images with a confidence of at least a fixed threshold."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    """Selects images at or above the threshold, bool [images]."""
    del client
    return pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionSelection(Selection):
  """Trains on images that a user's function selects, as `select` does."""

  reference: str
  function: Callable[[Client, Labels], tf.Tensor]

  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    return self.function(client, labels)


def load_selection(reference: str) -> Selection:
  """Loads a selection of another package: a part, or a function."""
  found = references.load(reference)
  if isinstance(found, Selection | type):
    return settings.outside(Selection)(reference)
  references.check_callable(found, 'client', 'labels')
  return FunctionSelection(reference=reference, function=found)


class Alignment(ClientPart, abc.ABC):
  """Base of rules that turn logits into pseudo-labels."""

  @abc.abstractmethod
  def label(self, client: Client, logits: tf.Tensor) -> Labels:
    """Labels of images, from their logits, float32 [images, classes]."""


class Regularizer(ClientPart, abc.ABC):
  """Base of losses that are added to the method's loss."""

  @abc.abstractmethod
  def loss(self, step: hook_arguments.Step) -> tf.Tensor | None:
    """The loss to add for a batch, a float32 scalar; None adds nothing."""


class Weighting(ClientPart, abc.ABC):
  """Base of rules for the weights of clients in the mean update."""

  @abc.abstractmethod
  def weigh(self, client: Client) -> tf.Tensor:
    """The weight of an update, a float32 scalar, at least 0."""


def align(
  logits: tf.Tensor,
  predicted: tf.Tensor,
  wanted: tf.Tensor | None = None,
) -> tf.Tensor:
  """The logits of probabilities multiplied by `wanted / predicted`.

  `predicted` is the mean of the model's predictions, float32 [classes].
  `wanted` are class shares, by default equal.
  """
  excess = tf.math.log(predicted + _EPSILON)
  if wanted is not None:
    excess -= tf.math.log(wanted + _EPSILON)
  return logits - excess


class Predictions(NamedTuple):
  """Sums over images, float32: probabilities, [classes], and a count."""

  probabilities: tf.Tensor
  num_images: tf.Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionAlignment(Alignment):
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

  def label(self, client: Client, logits: tf.Tensor) -> Labels:
    aligned = pseudo_labels.from_logits(align(logits, client.guidance))
    return aligned._replace(unaligned=tf.nn.softmax(logits))

  def guidance(
    self, kept: tf.Tensor, sums: Predictions, server: hook_arguments.Server
  ) -> tf.Tensor:
    del server
    mean = tf.math.divide_no_nan(sums.probabilities, sums.num_images)
    moved = self.alignment_decay * kept + (1.0 - self.alignment_decay) * mean
    return tf.where(sums.num_images > 0, moved, kept)

  def report(self, client: Client) -> Predictions:
    found = client.labels.unaligned
    return Predictions(
      tf.reduce_sum(found, axis=0), tf.cast(tf.shape(found)[0], tf.float32)
    )
