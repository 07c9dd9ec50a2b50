# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Alternate training: the clients' round, then the server's (Algorithm 1)."""

import tensorflow_federated as tff

from tff_semifl.algorithms import round_process


def compose_alternating_process(
  parts: round_process.RoundParts,
) -> tff.templates.IterativeProcess:
  """Composes a process in which the server tunes what clients trained.

      weights ─> distributor ─> client_work ─> aggregator ─> finalizer ─┐
                                     ^                                  v
                                client_data                       new weights
                                                                        │
      weights <─ batch_norm_statistics <─ server_work <─────────────────┘
                            ^                   ^
                            └─── server_data ───┘

  If no client counts in a round, weights and the states of aggregator and
  finalizer stay as they were until the server's turn (A.11): it is a round of
  the server alone, as round 0 is in any case (D1).

  Args:
    parts: What it is made of.

  Returns:
    A process of the types of `compose_process`.
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

  def join(state, context, server_data, trained) -> round_process.JoinedRound:
    aggregated = parts.aggregate(state.aggregator, trained)
    finalized = parts.finalizer.next(
      state.finalizer, state.global_model_weights, aggregated.result
    )
    aggregator_state, finalizer_state, weights = tff.federated_map(
      choose,
      (
        state.round_num,
        parts.num_counting(trained),
        (aggregated.state, finalized.state, finalized.result),
        (state.aggregator, state.finalizer, state.global_model_weights),
      ),
    )
    tuned = parts.server_work.next(
      state.server_work, weights, context, server_data
    )
    return round_process.JoinedRound(
      weights=tuned.result,
      aggregator=aggregator_state,
      finalizer=finalizer_state,
      server_work=tuned.state,
      server_metrics=tuned.measurements,
      aggregator_metrics=aggregated.measurements,
    )

  return round_process.compose_process(parts, join)
