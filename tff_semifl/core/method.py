# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The hooks of a client method: how clients label images and train.

The hooks in the order of a round:

    server   `tell`, whose result is sent with the weights
    clients  `init_state`, `label`; `loss` and `after_step` in each step;
             `after_round`, `report`, `weigh`
    server   `update`, `guidance`, with the sums of the clients' reports

Hooks are plain TensorFlow, traced once.
"""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import functools
from typing import Any, ClassVar, Literal

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators

# The name of the method itself among its guides; parts have their own names.
OWN = 'method'
NUMBERS = 'numbers, in any structure'
Hook = Callable[..., Any]  # A bound method.
_LIBRARY = f'{__name__.partition(".")[0]}.'


class Guiding:
  """Base of guides: objects with a server state and a message to clients.

  By default there is no state and no message.
  """

  def init_guidance(self, model: functional.ImageClassifier) -> Any:
    """The server's initial state, any structure of tensors."""
    del model
    return ()

  def tell(self, kept: Any, server: hook_arguments.Server) -> Any:
    """The message to clients, any structure; by default the state.

    `server` has the weights before the round.
    """
    del server
    return kept

  def update(
    self, kept: Any, sums: Any, server: hook_arguments.Server
  ) -> functional.ModelWeights:
    """The global model after averaging; by default the average.

    `kept` and `sums` are as in `guidance`. `server` has the labeled images, and
    the average as weights. Afterwards the server may train the result.
    """
    del kept, sums
    return server.weights

  def guidance(
    self, kept: Any, sums: Any, server: hook_arguments.Server
  ) -> Any:
    """The server's state after a round; by default unchanged.

    `kept` is the state before the round, a structure like the result. `sums` is
    the sum of `report` over the clients that are not rejected. `server` has the
    labeled images, and the weights after the round.
    """
    del sums, server
    return kept


Guides = Mapping[str, Guiding]


def find_guides(everything: Guides) -> Guides:
  """Selects the objects that send messages or update weights, by name.

  Raises a TypeError if another object overrides `guidance` or `report`.
  """
  guides = {}
  for name, each in everything.items():
    kind = type(each)
    if any(overrides(each, h) for h in ('init_guidance', 'tell', 'update')):
      guides[name] = each
      continue
    for hook in ('guidance', 'report'):
      found = getattr(kind, hook, None)
      if found is not None and not found.__module__.startswith(_LIBRARY):
        raise TypeError(
          f'{kind.__qualname__}: {hook} has no effect without'
          ' init_guidance, which must return what the server keeps before'
          ' round 0, or update'
        )
  return guides


def overrides(guide: Guiding, hook: str) -> bool:
  """Whether the class of a guide overrides the default of a hook."""
  default = Method if isinstance(guide, Method) else Guiding
  return getattr(type(guide), hook) is not getattr(default, hook)


def tell(
  guides: Guides,
  kept: Mapping[str, Any],
  server: hook_arguments.Server,
  context: federated_process.RoundContext,
) -> federated_process.RoundContext:
  """The context with the guides' messages to clients, by name."""
  return context._replace(
    guidance={
      name: to_tensors(each.tell, each.tell(kept[name], server))
      for name, each in guides.items()
    }
  )


def update(
  guides: Guides,
  kept: Mapping[str, Any],
  reports: Mapping[str, Any],
  server: hook_arguments.Server,
) -> Mapping[str, Any]:
  """The guides' states after a round, from the sums of reports, by name.

  In round 0 the model is untrained, and all sums are 0.
  """
  sums = _sums_by_name(reports, server)
  new = {}
  for name, each in guides.items():
    found = each.guidance(kept[name], sums.get(name, ()), server)
    new[name] = check_like(each.guidance, kept[name], found)
  return new


def update_weights(
  guides: Guides,
  kept: Mapping[str, Any],
  reports: Mapping[str, Any],
  server: hook_arguments.Server,
) -> functional.ModelWeights:
  """The weights of `server` after the `update` hooks of all guides."""
  sums = _sums_by_name(reports, server)
  for name, each in guides.items():
    new = each.update(kept[name], sums.get(name, ()), server)
    new = check_like(each.update, server.weights, new)
    server = dataclasses.replace(server, weights=new)
  return server.weights


def _sums_by_name(
  reports: Mapping[str, Any], server: hook_arguments.Server
) -> dict[str, Any]:
  return aggregators.zero_unless(server.round_num > 0, dict(reports))


class Method(Guiding, settings.Settings):
  """Base of client methods, dataclasses whose fields are settings.

  Attributes:
    relabel: When `label` is called: with 'round', once a round, for all images
      and the received model; with 'batch', in each step, for the batch and the
      model in training.
    clients_have_labels: Whether clients know the true labels of their images.
    labels_are_true: Whether `label` returns true labels, so that pseudo-label
      quality is not measured.
  """

  relabel: ClassVar[Literal['round', 'batch']] = 'round'
  clients_have_labels: ClassVar[bool] = False
  labels_are_true: ClassVar[bool] = False

  def init_memory(self, model: functional.ImageClassifier) -> Any:
    """A client's memory before its first round, any structure of tensors."""
    del model
    return ()

  def init_state(self, client: hook_arguments.ClientContext) -> Any:
    """The client's state before its first step, any structure."""
    del client
    return ()

  def label(
    self, client: hook_arguments.ClientContext, state: Any
  ) -> tuple[Any, tf.Tensor]:
    """Labels images, and selects the images to train on.

    By default, the predictions of the model, with all images selected.

    Returns:
      A pair. The labels are `PseudoLabels`, int32 [images], or probabilities,
      float32 [images, classes]. The selection is bool [images], or the weights
      in the loss, float32 [images], at least 0; weight 0 excludes an image.
    """
    del state
    labels = pseudo_labels.from_logits(client.logits())
    return labels, tf.ones_like(labels.labels, tf.bool)

  def loss(self, step: hook_arguments.Step, state: Any) -> tf.Tensor:
    """The loss of a batch, a float32 scalar; not used by `FromSums`."""
    raise TypeError(f'{type(self).__qualname__}: loss is missing')

  def after_step(self, state: Any, weights: functional.ModelWeights) -> Any:
    """The client's state after a step; by default unchanged.

    `weights` are the weights after the step.
    """
    del weights
    return state

  def after_round(
    self,
    client: hook_arguments.ClientContext,
    state: Any,
    weights: functional.ModelWeights,
  ) -> Any:
    """The client's memory after local training; by default unchanged.

    `state` comes from the last step; `weights` are the trained weights. A
    client that drops out or is rejected keeps its old memory.
    """
    del state, weights
    return client.memory

  def weigh(self, client: hook_arguments.ClientContext) -> tf.Tensor:
    """The weight of the client's update in the mean, a float32 scalar >= 0.

    By default 1 for a client that trains on any image, else 0. Not called with
    `relabel = 'batch'` or `labels_are_true`: clients with images have weight 1.
    """
    return tf.cast(client.num_trained_on > 0, tf.float32)

  def report(self, client: hook_arguments.ClientContext, state: Any) -> Any:
    """Values that are summed over clients for `update` and `guidance`.

    The result is any structure of numbers, of the same shapes for all clients.
    `state` comes from the last step.
    """
    del client, state
    return ()

  @property
  def parts(self) -> Guides:
    """Parts of the method by name, each with its own guidance."""
    return {}

  def select_data(
    self, data: Mapping[str, tf.Tensor], guidance: Any
  ) -> Mapping[str, tf.Tensor]:
    """The data that a client labels and trains on; by default unchanged.

    `data` has `client_id`, `image` and, in systems whose clients have labels,
    `label`. `guidance` is the server's message.
    """
    del guidance
    return data

  @property
  def measures_pseudo_labels(self) -> bool:
    """Whether pseudo-labels are compared with true labels, where known."""
    return not self.labels_are_true

  @property
  def weighs_clients(self) -> bool:
    """Whether clients that train may have different weights."""
    return overrides(self, 'weigh')

  @property
  def keeps_memory(self) -> bool:
    """Whether clients keep a memory from round to round."""
    if overrides(self, 'after_round') and not overrides(self, 'init_memory'):
      raise TypeError(
        f'{type(self).__qualname__}: after_round has no effect without'
        " init_memory, which must return a client's memory before its rounds"
      )
    return overrides(self, 'init_memory')

  @property
  def guides(self) -> Guides:
    """The guides among the method and its parts, by name (`find_guides`)."""
    return find_guides({OWN: self, **self.parts})


def check_scalar(hook: Hook, value: Any) -> tf.Tensor:
  """Checks that the result of a hook is a float32 scalar, and returns it."""
  example = ', such as step.mean(values)' if hook.__name__ == 'loss' else ''
  wanted = f'a float32 scalar{example}'
  value = to_tensor(hook, wanted, value)
  if value.dtype != tf.float32 or value.shape.rank != 0:
    raise wrong_result(hook, wanted, value)
  return value


def to_tensor(hook: Hook, wanted: str, value: Any) -> tf.Tensor:
  """Converts a value in the result of a hook to a tensor."""
  try:
    return tf.convert_to_tensor(value)
  except (TypeError, ValueError) as error:
    raise wrong_result(hook, wanted, value) from error


def to_tensors(hook: Hook, result: Any, wanted: str = NUMBERS) -> Any:
  """Converts the result of a hook, any structure, to tensors."""
  convert = functools.partial(to_tensor, hook, wanted)
  return tf.nest.map_structure(convert, result)


def check_like(hook: Hook, before: Any, after: Any) -> Any:
  """Checks the type of `after`; returns it with the structure of `before`."""
  wanted = _type_of(before)
  shown = f'{wanted.compact_representation()}, as before'
  after = to_tensors(hook, after, shown)
  with contextlib.suppress(TypeError, ValueError):  # A list for a tuple.
    after = tf.nest.map_structure(lambda _, new: new, before, after)
  if not wanted.is_assignable_from(found := _type_of(after)):
    raise wrong_result(hook, shown, found.compact_representation())
  return tf.nest.pack_sequence_as(before, tf.nest.flatten(after))


def _type_of(structure: Any) -> tff.Type:
  def type_of_one(value: Any) -> tff.TensorType:
    tensor = tf.convert_to_tensor(value)
    return tff.TensorType(tensor.dtype.as_numpy_dtype, tensor.shape)

  return tff.types.to_type(tf.nest.map_structure(type_of_one, structure))


def wrong_result(hook: Hook, wanted: str, found: Any) -> TypeError:
  """A TypeError that says what a hook must return, and what was found."""
  owner = type(getattr(hook, '__self__', hook))
  if isinstance(found, tf.Tensor):
    found = f'{found.dtype.name} {found.shape}'
  elif not isinstance(found, str):
    found = 'None' if found is None else f'a {type(found).__name__}'
  return TypeError(
    f'{owner.__qualname__}: {hook.__name__} must return {wanted}, not {found}'
  )
