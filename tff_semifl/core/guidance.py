# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Guidance: state of the server that is broadcast beside the model weights.

Examples are an averaged teacher, thresholds that follow how often classes were
learned, and class shares. Clients' reports are summed beside their updates: no
aggregator clips them or adds noise.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tff_semifl.core import hook_arguments
from tff_semifl.core import hook_results
from tff_semifl.core import round_context
from tff_semifl.models import functional

# The name of a method's own guidance, beside those of its parts.
OWN = 'method'
_LIBRARY = f'{__name__.partition(".")[0]}.'


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


Guides = Mapping[str, Guiding]


def find_guides(everything: Guides) -> Guides:
  """Those that have a message to clients, by name.

  Raises:
    TypeError: If hooks of guidance are overridden that are never called.
  """
  guides = {}
  for name, each in everything.items():
    kind = type(each)
    if (
      kind.init_guidance is not Guiding.init_guidance
      or kind.tell is not Guiding.tell
    ):
      guides[name] = each
      continue
    for hook in ('guidance', 'report'):
      found = getattr(kind, hook, None)
      if found is not None and not found.__module__.startswith(_LIBRARY):
        error = TypeError(
          f'{kind.__qualname__}: {hook} has no effect without'
          ' init_guidance, which must return what the server keeps before'
          ' round 0'
        )
        hook_results.note_definition(error, getattr(each, hook))
        raise error
  return guides


def tell(
  guides: Guides,
  kept: Mapping[str, Any],
  server: hook_arguments.Server,
  context: round_context.RoundContext,
) -> round_context.RoundContext:
  """The context with the messages of all guides to clients, by name."""
  return context._replace(
    guidance={
      name: each.tell(kept[name], server) for name, each in guides.items()
    }
  )


def update(
  guides: Guides,
  kept: Mapping[str, Any],
  reports: Mapping[str, Any],
  server: hook_arguments.Server,
) -> Mapping[str, Any]:
  """The states after a round, from sums of reports by name.

  In round 0, in which clients label with an untrained model, all sums are 0.
  """
  reports = tf.nest.map_structure(
    lambda each: tf.where(server.round_num > 0, each, tf.zeros_like(each)),
    reports,
  )
  new = {}
  for name, each in guides.items():
    # What reports nothing is missing, possibly all.
    new[name] = each.guidance(kept[name], dict(reports).get(name, ()), server)
    hook_results.check_like(each.guidance, kept[name], new[name])
  return new
