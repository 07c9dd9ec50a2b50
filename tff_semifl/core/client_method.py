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

from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import hook_arguments
from tff_semifl.core import hook_results
from tff_semifl.models import functional

_OWN = f'{__name__.partition(".")[0]}.'


class Guiding:
  """Base of whatever keeps a state at the server and broadcasts it to clients.

  By default there is no state and no message.
  """

  def init_guidance(self, model: functional.ImageClassifier) -> Any:
    """The server's initial state, any structure of tensors."""
    del model
    return ()

  def tell(self, kept: Any, server: hook_arguments.Server) -> Any:
    """The message to clients, any structure of tensors; by default the state.

    `server` is the server before the round.
    """
    del server
    return kept

  def guidance(
    self, kept: Any, sums: Any, server: hook_arguments.Server
  ) -> Any:
    """The server's state after a round, a structure like `kept`.

    `sums` is the sum of `report` over the clients that are not rejected,
    `server` the server after the round. By default the state stays the same.
    """
    del sums, server
    return kept

  @property
  def is_guiding(self) -> bool:
    """Whether clients receive a message."""
    kind = type(self)
    return not (
      kind.init_guidance is Guiding.init_guidance and kind.tell is Guiding.tell
    )

  def update_guidance(
    self, kept: Any, sums: Any, server: hook_arguments.Server
  ) -> Any:
    """The result of `guidance`, checked to be like `kept`."""
    new = self.guidance(kept, sums, server)
    hook_results.check_like(self.guidance, kept, new)
    return new

  def check_guidance(self) -> None:
    """Checks that the server calls `guidance` and receives `report`.

    Raises:
      TypeError: If they are overridden, and there is no `init_guidance`.
    """
    if self.is_guiding:
      return
    for name in ('guidance', 'report'):
      if _is_overridden(type(self), name):
        error = TypeError(
          f'{type(self).__qualname__}: {name} has no effect without'
          ' init_guidance, which must return what the server keeps before'
          ' round 0'
        )
        hook_results.note_definition(error, getattr(self, name))
        raise error


def _is_overridden(kind: type, name: str) -> bool:
  """Whether a class has another hook than the bases of this package."""
  hook = getattr(kind, name, None)
  return hook is not None and not hook.__module__.startswith(_OWN)


class ClientMethod(Guiding, abc.ABC):
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
  def parts(self) -> Mapping[str, Guiding]:
    """Parts of the method by name, each with guidance of its own."""
    return {}

  def build_guidance(
    self, model: functional.ImageClassifier
  ) -> guidance_lib.Guidance | None:
    """Combines the guidance of the method and its parts; None without any.

    Raises:
      TypeError: If hooks of guidance are overridden that are never called.
    """
    everything = {guidance_lib.OWN: self, **self.parts}
    for each in everything.values():
      each.check_guidance()
    guiding = {k: each for k, each in everything.items() if each.is_guiding}
    if not guiding:
      return None
    return guidance_lib.combine(
      {
        name: guidance_lib.Guidance(
          model=model,
          initialize=functools.partial(each.init_guidance, model),
          tell=each.tell,
          update=each.update_guidance,
        )
        for name, each in guiding.items()
      }
    )
