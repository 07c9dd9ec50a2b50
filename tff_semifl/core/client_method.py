# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The hooks of a client method: how clients label images and train.

In a round

    the server  calls `tell` and sends the result with the weights;
    a client    calls `init_state`, `label`, `weigh` and `report`, and in each
                step `loss` and `after_step`;
    the server  calls `guidance` with the reports of all clients, added up.

All of them are plain TensorFlow, traced once.
"""

import abc
from collections.abc import Mapping
import functools
from typing import Any, ClassVar, Literal

import tensorflow as tf

from tff_semifl.core import client_turn
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.models import functional


class Guiding:
  """Base of methods and of their parts: what the server tells clients.

  A class that defines none of these tells clients nothing and keeps nothing.
  """

  def init_guidance(self, model: functional.ImageClassifier) -> Any:
    """Returns what the server keeps before round 0.

    Args:
      model: The model.

    Returns:
      Any structure of tensors.
    """
    del model  # By default nothing is kept.
    return ()

  def tell(self, kept: Any, server: client_turn.Server) -> Any:
    """Returns the message to clients, `guidance` of a turn.

    Args:
      kept: What the server keeps.
      server: The server before the round.

    Returns:
      Any structure of tensors; by default what is kept.
    """
    del server  # See the classes that look at weights or images.
    return kept

  def guidance(self, kept: Any, sums: Any, server: client_turn.Server) -> Any:
    """Returns what the server keeps after a round.

    Args:
      kept: What it kept before the round.
      sums: The reports of the clients that are not rejected, added up.
      server: The server after the round.

    Returns:
      A structure like `kept`; by default the same.
    """
    del sums, server  # By default nothing changes.
    return kept

  @property
  def is_guiding(self) -> bool:
    """True if clients are told anything."""
    kind = type(self)
    return not (
      kind.init_guidance is Guiding.init_guidance and kind.tell is Guiding.tell
    )


class ClientMethod(Guiding, abc.ABC):
  """Base of client methods.

  Attributes:
    relabel: When images are labeled: once a round, with the received model; at
      the beginning of each epoch, or batch by batch, with the model in
      training. By batches, `Turn.images` are weak views of the batch.
    clients_have_labels: Whether clients know the true labels of their images.
    labels_are_true: Whether `label` returns true labels, of which nothing is to
      be measured.
  """

  relabel: ClassVar[Literal['round', 'epoch', 'batch']] = 'round'
  clients_have_labels: ClassVar[bool] = False
  labels_are_true: ClassVar[bool] = False

  def init_state(self, turn: client_turn.Turn) -> Any:
    """Returns the client's own state at the beginning of a round.

    Args:
      turn: The turn.

    Returns:
      Any structure of tensors, which goes through all steps of the round.
    """
    del turn  # By default there is none.
    return ()

  @abc.abstractmethod
  def label(self, turn: client_turn.Turn, state: Any) -> tuple[Any, tf.Tensor]:
    """Labels images, and selects those that are trained on.

    Args:
      turn: The turn, whose `images` are to be labeled.
      state: The client's own state.

    Returns:
      Labels: `PseudoLabels`, or int32 [images], or probabilities, float32
      [images, classes]. And bool [images], which are trained on, or float32
      [images], what each weighs in the loss, at least 0; images that weigh
      nothing are left out.
    """

  @abc.abstractmethod
  def loss(self, step: client_turn.Step, state: Any) -> tf.Tensor:
    """Returns the loss of a batch, a float32 scalar.

    Args:
      step: The batch, with its views and labels.
      state: The client's own state.
    """

  def after_step(self, state: Any, weights: functional.ModelWeights) -> Any:
    """Returns the client's own state after a step.

    Args:
      state: The state before the step.
      weights: The weights after the step.
    """
    del weights  # By default nothing changes.
    return state

  def weigh(self, turn: client_turn.Turn) -> tf.Tensor:
    """Returns the weight of the client's update in the mean.

    Where images are labeled during training, the weight is 1 for a client that
    has any image (D36).

    Args:
      turn: The turn, with labels.

    Returns:
      A float32 scalar, at least 0. By default 1 for a client that trains on any
      image, else 0 (A.12).
    """
    return tf.cast(turn.num_trained_on > 0, tf.float32)

  def report(self, turn: client_turn.Turn, state: Any) -> Any:
    """Returns sums over the client's images, for `guidance`.

    Args:
      turn: The turn, with labels where images are labeled once a round.
      state: The client's own state after the last step.

    Returns:
      Any structure of tensors, to be added up over clients; () for nothing.
    """
    del turn, state  # By default nothing is reported.
    return ()

  def mix_key(self, epoch: tf.Tensor) -> tf.Tensor | int:
    """Returns the key of the images of `Step.mix`: equal keys, equal draws.

    Args:
      epoch: int32 scalar, the epoch.
    """
    return epoch

  @property
  def parts(self) -> Mapping[str, Guiding]:
    """Parts by name, of which each has guidance of its own."""
    return {}

  def build_guidance(
    self, model: functional.ImageClassifier
  ) -> guidance_lib.Guidance | None:
    """Builds the guidance of the method and of its parts.

    Args:
      model: The model.

    Returns:
      The guidance; None if clients are told nothing.
    """
    guiding = {
      name: each
      for name, each in {guidance_lib.OWN: self, **self.parts}.items()
      if each.is_guiding
    }
    if not guiding:
      return None
    return guidance_lib.combine(
      {
        name: guidance_lib.Guidance(
          model=model,
          initialize=functools.partial(each.init_guidance, model),
          tell=each.tell,
          update=each.guidance,
        )
        for name, each in guiding.items()
      }
    )
