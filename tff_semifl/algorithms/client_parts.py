# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of a client that labels its images once, as in SemiFL.

Each part is a field of `fix_mix.Fix`; None means as in SemiFL. All parts can be
combined. A part may keep a state at the server, updated by sums over clients'
images, which secure aggregation can add.
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
    return labels.confidences >= self.confidence.confidence_threshold


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
