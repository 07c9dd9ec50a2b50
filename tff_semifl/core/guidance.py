# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Guidance: a server's state of its own, told to clients beside the weights.

A teacher that is an average of models, thresholds that follow from how often a
class was learned, shares of classes: each is a state of the server, a message
to the clients of a round, and a change after it. Clients' reports for it are
added up beside their updates: no aggregator clips them or adds noise to them.
"""

from collections.abc import Callable, Collection, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_turn
from tff_semifl.core import round_context
from tff_semifl.models import functional


@dataclasses.dataclass(frozen=True, kw_only=True)
class Guidance:
  """A state of the server's own, in plain TensorFlow.

  Attributes:
    model: The model.
    tell: (state, `Server` before the round) -> the message to clients,
      `RoundContext.guidance`.
    initialize: ( -> state before round 0); by default there is none.
    update: (state, sums, `Server` after the round) -> state after it. Sums are
      `LocalTraining.report`, added up over all clients of the round that are
      not rejected; zeros in round 0, the server's.
  """

  model: functional.ImageClassifier
  tell: Callable[[Any, client_turn.Server], Any]
  initialize: Callable[[], Any] = lambda: ()
  update: Callable[[Any, Any, client_turn.Server], Any] = (
    lambda state, sums, server: state
  )

  def build_initialize(self) -> tff.Computation:
    """Builds ( -> state)."""
    return tff.tensorflow.computation(self.initialize)

  def build_tell(
    self, weights_type: tff.Type, server_data_type: tff.SequenceType
  ) -> tff.Computation:
    """Builds (<state, weights, data, RoundContext> -> RoundContext to send)."""

    @tff.tensorflow.computation(
      self.build_initialize().type_signature.result,
      weights_type,
      server_data_type,
      round_context.ROUND_CONTEXT_TYPE,
    )
    def tell(
      state: Any,
      weights: functional.ModelWeights,
      server_data: tf.data.Dataset,
      context: round_context.RoundContext,
    ):
      server = client_turn.Server(
        model=self.model,
        seed=context.seed,
        round_num=context.round_num,
        weights=weights,
        data=server_data,
      )
      return context._replace(guidance=self.tell(state, server))

    return tell

  def build_update(
    self, weights_type: tff.Type, reports_type: tff.Type
  ) -> tff.Computation:
    """Builds (<state, RoundContext, weights, reports> -> state)."""

    @tff.tensorflow.computation(
      self.build_initialize().type_signature.result,
      round_context.ROUND_CONTEXT_TYPE,
      weights_type,
      reports_type,
    )
    def update(
      state: Any,
      context: round_context.RoundContext,
      weights: functional.ModelWeights,
      reports: Any,
    ):
      # Clients of round 0 train a model that is not trained yet (D1).
      counts = context.round_num > 0
      reports = tf.nest.map_structure(
        lambda each: tf.where(counts, each, tf.zeros_like(each)), reports
      )
      server = client_turn.Server(
        model=self.model,
        seed=context.seed,
        round_num=context.round_num,
        weights=weights,
      )
      return self.update(state, reports, server)

    return update


# The name of a method beside those of its parts.
OWN = 'method'


def combine(each: Mapping[str, Guidance]) -> Guidance:
  """Returns the guidance of a method and its parts, each by itself.

  Args:
    each: By name, at least one.

  Returns:
    The guidance, whose states, messages and reports are mappings by name; if
    there is the method's own alone, the same as that.
  """
  first = next(iter(each.values()))
  if each.keys() == {OWN}:
    return first
  return Guidance(
    model=first.model,
    initialize=lambda: {name: part.initialize() for name, part in each.items()},
    tell=lambda states, server: {
      name: part.tell(states[name], server) for name, part in each.items()
    },
    update=lambda states, sums, server: {
      # Those that report nothing may be all.
      name: part.update(states[name], dict(sums).get(name, ()), server)
      for name, part in each.items()
    },
  )


def split(
  message: Any, names: Collection[str]
) -> tuple[Any, Mapping[str, Any]]:
  """Returns what a method and its parts were told.

  Args:
    message: A message of what `combine` returned, or () without guidance.
    names: Names of the parts that have guidance.

  Returns:
    The method's own message, () if it has none, and those of parts by name.
  """
  if not names:
    return message, {}
  return message.get(OWN, ()), message
