# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of a client that labels its images once, as SemiFL has them.

Each part is a field of `fix_mix.Fix`. The kinds here are SemiFL's; those of
later methods are in files of their own, and parts of any kinds can be combined.
A part may have a state at the server, and clients may report sums over their
pseudo-labels to it (I.1).
"""

import abc
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import client_method
from tff_semifl.core import client_turn
from tff_semifl.models import functional
from tff_semifl.systems import training_settings
from tff_semifl.training import pseudo_labels


class ClientPart(client_method.Guiding, settings.Settings):
  """Base of the parts.

  `guidance` of the turns that a part is given is what the part's own `tell`
  returned.
  """

  def report(self, turn: client_turn.Turn) -> Any:
    """Returns sums over the images of a client, for `guidance`.

    Args:
      turn: The turn, with labels.

    Returns:
      Any structure of tensors; () for nothing.
    """
    del turn  # By default nothing is reported.
    return ()


class Selection(ClientPart, abc.ABC):
  """Base of the rules that say which images are trained on."""

  @abc.abstractmethod
  def select(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Selects or weighs images.

    Args:
      turn: The turn.
      labels: The labels of its images.

    Returns:
      bool [images], which are trained on; or float32 [images], at least 0, what
      each weighs in the loss.
    """


class ClassThresholds(Selection):
  """Base of the rules with a threshold of each class."""

  def thresholds(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns the thresholds, float32 [classes]; by default those told."""
    del labels  # See the rules that depend on the client's own images.
    return turn.guidance

  def select(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are at or above the threshold of their class."""
    return pseudo_labels.is_confident(
      labels, tf.gather(self.thresholds(turn, labels), labels.labels)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedThreshold(Selection):
  """Trains on images above one threshold (A.6)."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def select(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are at the threshold or above."""
    del turn  # The threshold is the same in all rounds.
    return pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Labeler(ClientPart):
  """Labels by the model that the client receives (A.6)."""

  def choose(self, turn: client_turn.Turn) -> functional.ModelWeights:
    """Returns the weights that label."""
    return turn.weights


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alignment(ClientPart):
  """Labels with the most probable class (A.6)."""

  def label(
    self, turn: client_turn.Turn, logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    """Returns labels of images.

    Args:
      turn: The turn.
      logits: float32 [images, classes].
    """
    del turn  # Logits are all that matters.
    return pseudo_labels.from_logits(logits)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustment(ClientPart):
  """Trains on logits as they are (A.8)."""

  def logit_offset(
    self, turn: client_turn.Turn, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor | None:
    """Returns what is added to logits in the losses.

    Args:
      turn: The turn.
      labels: The labels of its images.

    Returns:
      float32 [classes]; None for nothing.
    """
    del turn, labels  # Nothing is added.
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regularizer(ClientPart):
  """Trains without a further loss (A.8)."""

  def loss(self, step: client_turn.Step) -> tf.Tensor | None:
    """Returns a further loss of a batch, a float32 scalar; None for none."""
    del step  # There is none.
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighting(ClientPart):
  """Counts all clients that train the same (A.12)."""

  def weigh(self, turn: client_turn.Turn) -> tf.Tensor:
    """Returns the weight of an update, a float32 scalar, at least 0.

    Args:
      turn: The turn, with labels.
    """
    return tf.cast(turn.num_trained_on > 0, tf.float32)
