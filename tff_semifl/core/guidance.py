# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Guidance: state of the server that is broadcast beside the model weights.

Examples are an averaged teacher, thresholds that follow how often classes were
learned, and class shares. Clients' reports are summed beside their updates: no
aggregator clips them or adds noise.
"""

from collections.abc import Callable, Collection, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import hook_arguments
from tff_semifl.core import round_context
from tff_semifl.models import functional


@dataclasses.dataclass(frozen=True, kw_only=True)
class Guidance:
  """State of the server, message to clients, and update; in plain TensorFlow.

  Attributes:
    tell: (state, `Server` before the round) -> `RoundContext.guidance`, the
      message to clients.
    initialize: ( -> state before round 0); by default empty.
    update: (state, sums, `Server` after the round) -> new state. Sums are of
      `LocalTraining.report` over the clients that are not rejected, and zeros
      in round 0.
  """

  model: functional.ImageClassifier
  tell: Callable[[Any, hook_arguments.Server], Any]
  initialize: Callable[[], Any] = lambda: ()
  update: Callable[[Any, Any, hook_arguments.Server], Any] = (
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
      server = hook_arguments.Server(
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
      # In round 0 clients label with an untrained model.
      counts = context.round_num > 0
      reports = tf.nest.map_structure(
        lambda each: tf.where(counts, each, tf.zeros_like(each)), reports
      )
      server = hook_arguments.Server(
        model=self.model,
        seed=context.seed,
        round_num=context.round_num,
        weights=weights,
      )
      return self.update(state, reports, server)

    return update


# The key of a method's own guidance, beside those of its parts.
OWN = 'method'


def combine(each: Mapping[str, Guidance]) -> Guidance:
  """Combines the guidance of a method and its parts.

  States, messages and reports are mappings by name. If the method's own is the
  only one, it is returned as it is.
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
      # Parts that report nothing are missing, possibly all.
      name: part.update(states[name], dict(sums).get(name, ()), server)
      for name, part in each.items()
    },
  )


def split(
  message: Any, names: Collection[str]
) -> tuple[Any, Mapping[str, Any]]:
  """Splits a message of combined guidance.

  `names` are those of the parts that have guidance; without any, the
  message is ().

  Returns:
    The method's own message, () without one, and the messages to parts by name.
  """
  if not names:
    return message, {}
  return message.get(OWN, ()), message
