# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Parts of SemiFL's client: selection, alignment, regularizer and weighting.

Each part is a field of `fix_mix.Fix`. The default of each field is SemiFL's
choice, and all parts can be combined. A part may keep a state at the server,
which the server updates from the sum of clients' reports (secure aggregation).
"""

import abc
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels

# The usual arguments of hooks.
Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels


class ClientPart(method.Guiding, settings.Settings):
  """Base of the parts; the server's message is in `client.guidance`."""

  def report(self, client: Client) -> Any:
    """Sums over the client's images for the hook `guidance`; by default ()."""
    del client
    return ()


class Selection(ClientPart, abc.ABC):
  """Base of the rules that select the images to train on."""

  @abc.abstractmethod
  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    """Whether images are selected, bool [images]; or float32 weights >= 0."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedThreshold(Selection):
  """Trains on images with a confidence of at least a fixed threshold."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def select(self, client: Client, labels: Labels) -> tf.Tensor:
    """Selects images at or above the threshold, bool [images]."""
    del client
    return labels.confidences >= self.confidence.confidence_threshold


class Alignment(ClientPart, abc.ABC):
  """Base of rules that turn logits into pseudo-labels."""

  @abc.abstractmethod
  def label(self, client: Client, logits: tf.Tensor) -> Labels:
    """Pseudo-labels of images, from logits, float32 [images, classes]."""


class Regularizer(ClientPart, abc.ABC):
  """Base of losses that are added to the method's loss."""

  @abc.abstractmethod
  def loss(self, step: hook_arguments.Step) -> tf.Tensor | None:
    """The loss to add for a batch, a float32 scalar; None adds nothing."""


class Weighting(ClientPart, abc.ABC):
  """Base of rules that weight the clients' updates in their mean."""

  @abc.abstractmethod
  def weigh(self, client: Client) -> tf.Tensor:
    """The weight of the client's update, a float32 scalar, at least 0."""
