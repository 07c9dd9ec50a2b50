# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Alternate training (SemiFL, Algorithm 1): clients train, then the server."""

import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import round_process


def compose_alternating_process(
  parts: round_process.RoundParts,
) -> federated_process.FederatedProcess:
  """Composes a process in which the server fine-tunes the clients' aggregate.

      weights ─> distributor ─> client_work ─> aggregator ─> finalizer ─┐
                                     ^                                  v
                                client_data                       new weights
                                                                        │
      weights <─ batch_norm_statistics <─ server_work <─────────────────┘
                            ^                   ^
                            └─── server_data ───┘

  If no client's update counts, the weights and the states of aggregator and
  finalizer reach the server work unchanged. In round 0 the server always trains
  alone.
  """
  choose = parts.build_choice(
    tff.types.to_type(
      (
        parts.aggregator.initialize.type_signature.result.member,
        parts.finalizer.initialize.type_signature.result.member,
        parts.weights_type,
      )
    )
  )

  def combine(state, context, server_data, aggregated, num_counting):
    finalized = parts.finalizer.next(
      state.finalizer, state.global_model_weights, aggregated.result
    )
    # Unchanged in round 0, and if no client's update counts.
    aggregator, finalizer, weights = tff.federated_map(
      choose,
      (
        state.round_num,
        num_counting,
        (aggregated.state, finalized.state, finalized.result),
        (state.aggregator, state.finalizer, state.global_model_weights),
      ),
    )
    # The server fine-tunes the aggregate on its labeled images.
    tuned = parts.server_work.next(
      state.server_work, weights, context, server_data
    )
    return round_process.ServerResult(
      tuned.result, aggregator, finalizer, tuned
    )

  return round_process.build_process(parts, combine)
