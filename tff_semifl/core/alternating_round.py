# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's round: clients and server train in turn."""

import tensorflow_federated as tff

from tff_semifl.core import composition
from tff_semifl.core import federated_process


def semifl_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value | None = None,
) -> federated_process.RoundOutput:
  """Algorithm 1 of SemiFL: clients train, then the server fine-tunes the mean.

  In round 0, and in rounds without a client's update, the server trains the
  previous global model; the states of aggregator and finalizer do not change.
  Without an aggregator, no mean is computed, but guides may compute the model.
  """
  context = p.begin(state)
  received = p.send(state, context, server_data)
  trained = p.clients(received, client_data, memories)
  changes, weights = {}, state.global_model_weights
  measured = tff.federated_value((), tff.SERVER)
  if p.aggregator is not None:
    mean = p.mean(state, trained)
    finalized = p.finalizer.next(state.finalizer, weights, mean.update)
    changes['finalizer'], weights = composition.choose(
      mean.is_used,
      (finalized.state, finalized.result),
      (state.finalizer, weights),
    )
    changes['aggregator'], measured = mean.state, mean.measurements
  weights = p.update(state, context, trained, weights, server_data)
  tuned = p.server(state, weights, context, server_data)
  return p.finish(
    state,
    context,
    trained,
    server_data,
    {'server': tuned.measurements, 'aggregator': measured},
    global_model_weights=p.with_statistics(tuned.weights, server_data),
    server_work=tuned.state,
    **changes,
  )
