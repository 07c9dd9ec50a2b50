# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A round that is one step of the global model: federated SGD."""

from typing import Any

import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import round_process


def compose_gradient_process(
  parts: round_process.RoundParts,
) -> federated_process.FederatedProcess:
  """Composes a process in which a round is one step of the global model.

  The gradient of the step is that of the server's batch plus the uniform mean
  of those of the clients' batches.

  Args:
    parts: The components of the process. The clients' updates are gradients,
      and the server work is that of `gradients.build_server_work`. The
      finalizer is not used.
  """
  update_type = parts.weights_type.trainable
  choose = parts.build_choice(
    tff.types.to_type(
      (parts.aggregator.initialize.type_signature.result.member, update_type)
    )
  )
  state_type = parts.server_work.initialize.type_signature.result.member

  @tff.tensorflow.computation(state_type, update_type)
  def put_gradient(state: Any, gradient: Any):
    optimizer_state, _ = state
    return optimizer_state, gradient

  @tff.tensorflow.computation(state_type)
  def no_gradient(state: Any):
    _, gradient = state
    return tuple(0.0 * array for array in gradient)

  def combine(state, context, server_data, aggregated, num_counting):
    # The mean gradient is replaced by zero if no client counts.
    aggregator, gradient = tff.federated_map(
      choose,
      (
        state.round_num,
        num_counting,
        (aggregated.state, aggregated.result),
        (
          state.aggregator,
          tff.federated_map(no_gradient, state.server_work),
        ),
      ),
    )
    # The server takes a step along the sum of this mean and its own gradient.
    stepped = parts.server_work.next(
      tff.federated_map(put_gradient, (state.server_work, gradient)),
      state.global_model_weights,
      context,
      server_data,
    )
    return round_process.ServerResult(
      stepped.result, aggregator, state.finalizer, stepped
    )

  return round_process.build_process(parts, combine)
