# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Guidance: a server's state of its own, told to clients beside the weights.

A teacher that is an average of models, thresholds that follow from how often a
class was learned, shares of classes: each is a state of the server, a message
to the clients of a round, and a change after it. Clients' reports for it are
added up beside their updates: no aggregator clips them or adds noise to them.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.models import functional
from tff_semifl.work import round_context


@dataclasses.dataclass(frozen=True, kw_only=True)
class Guidance:
  """A state of the server's own, in plain TensorFlow.

  Attributes:
    tell: (state, `RoundContext`, weights before the round, the server's data)
      -> the message to clients, `RoundContext.guidance`. Data are as the
      server's work has them.
    initialize: ( -> state before round 0); by default there is none.
    update: (state, `RoundContext`, weights after the round, reports) -> state
      after it; by default the same. Reports are `LocalTraining.report`, added
      up over all clients of the round that are not rejected; zeros in round 0,
      the server's.
  """

  tell: Callable[
    [Any, round_context.RoundContext, functional.ModelWeights, tf.data.Dataset],
    Any,
  ]
  initialize: Callable[[], Any] = lambda: ()
  update: (
    Callable[
      [Any, round_context.RoundContext, functional.ModelWeights, Any], Any
    ]
    | None
  ) = None

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
      return context._replace(
        guidance=self.tell(state, context, weights, server_data)
      )

    return tell

  def build_update(
    self, weights_type: tff.Type, reports_type: tff.Type
  ) -> tff.Computation:
    """Builds (<state, RoundContext, weights, reports> -> state)."""
    update_state = self.update
    if update_state is None:
      raise ValueError('There is no update to build.')

    def update(
      state: Any,
      context: round_context.RoundContext,
      weights: functional.ModelWeights,
      reports: Any,
    ) -> Any:
      # Clients of round 0 train a model that is not trained yet (D1).
      counts = context.round_num > 0
      reports = tf.nest.map_structure(
        lambda each: tf.where(counts, each, tf.zeros_like(each)), reports
      )
      return update_state(state, context, weights, reports)

    return tff.tensorflow.computation(
      update,
      [
        self.build_initialize().type_signature.result,
        round_context.ROUND_CONTEXT_TYPE,
        weights_type,
        reports_type,
      ],
    )


def combine(parts: Mapping[str, Guidance | None]) -> Guidance | None:
  """Returns the guidance of several parts, each by itself.

  Args:
    parts: By name, None for a part without any. State and message are mappings
      by the names of the others, reports by those that have any.

  Returns:
    The guidance; None if no part has any.
  """
  present = {name: each for name, each in parts.items() if each is not None}
  if not present:
    return None

  def initialize() -> dict[str, Any]:
    return {name: part.initialize() for name, part in present.items()}

  def tell(
    states: Mapping[str, Any],
    context: round_context.RoundContext,
    weights: functional.ModelWeights,
    server_data: tf.data.Dataset,
  ) -> dict[str, Any]:
    return {
      name: part.tell(states[name], context, weights, server_data)
      for name, part in present.items()
    }

  def update(
    states: Mapping[str, Any],
    context: round_context.RoundContext,
    weights: functional.ModelWeights,
    reports: Mapping[str, Any],
  ) -> dict[str, Any]:
    return {
      name: states[name]
      if part.update is None
      else part.update(states[name], context, weights, reports.get(name, ()))
      for name, part in present.items()
    }

  return Guidance(tell=tell, initialize=initialize, update=update)
