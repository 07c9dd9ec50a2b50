# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of a client that labels its images once, as SemiFL has them.

Each part is a field of `client_trainings.Fix`. The kinds here are SemiFL's;
those of later methods are in files of their own, and parts of any kinds can be
combined. A part may have a state at the server, and clients may report sums
over their pseudo-labels to it (I.1).
"""

import abc
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.systems import padded_images
from tff_semifl.systems import training_settings
from tff_semifl.work import fix_mix_training
from tff_semifl.work import guidance as guidance_lib
from tff_semifl.work import sharpness_aware


class ClientPart(padded_images.MayHeedPadding):
  """Base of the parts.

  `guidance` is the message of the part's own state to clients; () without one.
  """

  def build_guidance(
    self, classifier: functional.ImageClassifier
  ) -> guidance_lib.Guidance | None:
    """Builds the part's state at the server; None if it has none.

    Args:
      classifier: The model.
    """
    del classifier  # A part without a state needs nothing of it.
    return None

  def report(self, guidance: Any, labels: pseudo_labels.PseudoLabels) -> Any:
    """Returns sums over the images of a client, which that state is told.

    Args:
      guidance: The message of the state.
      labels: The labels of all its images.
    """
    del guidance, labels  # By default nothing is reported, which () is.
    return ()


class Selection(ClientPart, abc.ABC):
  """Base of the rules that say which images are trained on."""

  @abc.abstractmethod
  def select(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Selects or weighs images, a `pseudo_labels.SelectionFn`."""


class ClassThresholds(Selection):
  """Base of the rules with a threshold of each class.

  `guidance` is the thresholds, float32 [classes].
  """

  def select(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are at or above the threshold of their class."""
    return pseudo_labels.is_confident(
      labels, tf.gather(guidance, labels.labels)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedThreshold(Selection):
  """Trains on images above one threshold (A.6)."""

  heeds_padding = True

  confidence: training_settings.Confidence = training_settings.Confidence()

  def select(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are at the threshold or above."""
    return pseudo_labels.at_least(self.confidence.confidence_threshold)(
      guidance, labels
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Labeler(ClientPart):
  """Labels by the model that the client receives (A.6)."""

  heeds_padding = True

  def choose(
    self, guidance: Any, weights: functional.ModelWeights
  ) -> functional.ModelWeights:
    """Returns the weights that label, a `fix_mix_training.LabelerFn`."""
    return fix_mix_training.use_received(guidance, weights)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alignment(ClientPart):
  """Labels with the most probable class (A.6)."""

  heeds_padding = True

  def label(
    self, guidance: Any, logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    """Returns the labels of all images, a `pseudo_labels.LabelFn`."""
    return pseudo_labels.most_probable(guidance, logits)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustment(ClientPart):
  """Trains on logits as they are (A.8)."""

  heeds_padding = True

  def logit_offset(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor | None:
    """Returns an offset of logits, a `fix_mix_training.LogitOffsetFn`."""
    return fix_mix_training.add_nothing(guidance, labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regularizer(ClientPart):
  """Trains without a further loss (A.8)."""

  heeds_padding = True

  @property
  def consistency(self) -> sharpness_aware.Consistency | None:
    """The further loss of strong views; None for none."""
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighting(ClientPart):
  """Counts all clients that train the same (A.12)."""

  heeds_padding = True

  def weigh(
    self, labels: pseudo_labels.PseudoLabels, num_selected: tf.Tensor
  ) -> tf.Tensor:
    """Returns the weight of an update, a `fix_mix_training.WeightFn`."""
    return fix_mix_training.count_equally(labels, num_selected)
