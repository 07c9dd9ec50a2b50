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
from typing import Any, ClassVar, Literal

import tensorflow as tf

from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import hook_arguments
from tff_semifl.models import functional


class ClientMethod(guidance_lib.Guiding, abc.ABC):
  """Base of client methods.

  Attributes:
    relabel: When images are labeled: once a round by the received model, or at
      the beginning of each epoch or for each batch by the model in training.
      With 'batch', `ClientContext.images` are the weakly augmented batch.
    clients_have_labels: Whether clients know the true labels of their images.
    labels_are_true: Whether `label` returns true labels, so that pseudo-label
      quality is not measured.
  """

  relabel: ClassVar[Literal['round', 'epoch', 'batch']] = 'round'
  clients_have_labels: ClassVar[bool] = False
  labels_are_true: ClassVar[bool] = False

  def init_state(self, client: hook_arguments.ClientContext) -> Any:
    """The client's own state before its first step, any structure of tensors.

    The state passes through all steps of the round.
    """
    del client
    return ()

  @abc.abstractmethod
  def label(
    self, client: hook_arguments.ClientContext, state: Any
  ) -> tuple[Any, tf.Tensor]:
    """Labels images, and selects the images to train on.

    Returns:
      Labels: `PseudoLabels`, int32 [images], or probabilities, float32 [images,
      classes]. Selection: bool [images], or float32 [images], the weights of
      images in the loss, at least 0; images of weight 0 are left out.
    """

  @abc.abstractmethod
  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    """The loss of a batch, a float32 scalar."""

  def after_step(self, state: Any, weights: functional.ModelWeights) -> Any:
    """The client's own state after a step; by default the state before it.

    `weights` are those after the step.
    """
    del weights
    return state

  def weigh(self, client: hook_arguments.ClientContext) -> tf.Tensor:
    """The weight of the client's update in the mean.

    Not called if images are labeled during training: a client with images has
    weight 1 then.

    Returns:
      A float32 scalar, at least 0. By default 1 for a client that trains on any
      image, else 0.
    """
    return tf.cast(client.num_trained_on > 0, tf.float32)

  def report(self, client: hook_arguments.ClientContext, state: Any) -> Any:
    """Sums over the client's images, which `guidance` receives.

    `client` has labels if images are labeled once a round; `state` is the one
    after the last step.

    Returns:
      Any structure of tensors, summed over clients; () for nothing.
    """
    del client, state
    return ()

  def mix_key(self, epoch: tf.Tensor) -> tf.Tensor | int:
    """The random key of `Step.mix`; equal keys draw equal images."""
    return epoch

  @property
  def parts(self) -> guidance_lib.Guides:
    """Parts of the method by name, each with guidance of its own."""
    return {}

  @property
  def guides(self) -> guidance_lib.Guides:
    """The method and its parts, as far as they guide, by name.

    Raises:
      TypeError: If hooks of guidance are overridden that are never called.
    """
    return guidance_lib.find_guides({guidance_lib.OWN: self, **self.parts})
