# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch as SemiFL's authors ran it (Figure 2).

In `fedsgd_fixmatch` clients keep their images and send gradients. The authors'
program of the paper's time, deleted from their repository since, trained on the
images of a cohort as one batch. This module reproduces their curve.
"""

import collections
from collections.abc import Callable

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import round_context
from tff_semifl.core import round_process
from tff_semifl.models import functional


def compose_union_process(
  work: tff.templates.MeasuredProcess,
  batch_norm_statistics: tff.Computation | None,
  *,
  initial_weights: functional.ModelWeights,
  seed: int,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
) -> federated_process.FederatedProcess:
  """Composes a process in which a round is one epoch of the clients' images.

  All clients take part in a round, each in as many steps as it has batches; all
  steps of a round have the same learning rate. The images are gathered at the
  server, which takes the steps (`union_training.train_epoch`): a simulation,
  which does not keep images private. Round 0 has no clients and no step. `work`
  is from `union_work.build_union_work`.

  Returns:
    A process with the types and metrics of `round_process.build_process`; parts
    that it lacks have an empty state.
  """
  begin_round = round_context.build_beginning(learning_rate_fn)

  @tff.tensorflow.computation
  def initial_values():
    return (
      tf.nest.map_structure(tf.constant, initial_weights),
      tf.constant(0, tf.int32),
      tf.constant(seed, tf.int32),
    )

  def zip_state(weights, work_state, round_num, seed):
    nothing = tff.federated_value((), tff.SERVER)
    return tff.federated_zip(
      round_process.RoundState(
        global_model_weights=weights,
        distributor=nothing,
        client_work=nothing,
        aggregator=nothing,
        finalizer=nothing,
        server_work=work_state,
        round_num=round_num,
        seed=seed,
        guidance=nothing,
      )
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, seed = tff.federated_eval(initial_values, tff.SERVER)
    return zip_state(weights, work.initialize(), round_num, seed)

  def run_round(state, server_data, client_data):
    context, next_round_num = tff.federated_map(
      begin_round, (state.seed, state.round_num)
    )
    # Clients hand over their images; the server takes the steps of an epoch.
    trained = work.next(
      state.server_work,
      state.global_model_weights,
      context,
      server_data,
      client_data,
    )
    weights = trained.result.weights
    if batch_norm_statistics is not None:
      weights = batch_norm_statistics(weights, server_data)
    return federated_process.RoundOutput(
      state=zip_state(weights, trained.state, next_round_num, state.seed),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=trained.measurements.client,
          server=trained.measurements.server,
          aggregator=tff.federated_value((), tff.SERVER),
          learning_rate=context.learning_rate,
        )
      ),
      given_labels=trained.result.given_labels,
    )

  *_, server_data_type, client_data_type = work.next.type_signature.parameter
  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=server_data_type,
    client_data_type=client_data_type,
  )
