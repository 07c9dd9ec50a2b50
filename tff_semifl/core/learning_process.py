# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A process as a `LearningProcess` of `tff.learning`."""

import collections

import tensorflow_federated as tff

from tff_semifl.core import federated_process


def bind_server_data(
  process: federated_process.FederatedProcess, server_data: tff.Computation
) -> tff.learning.templates.LearningProcess:
  """Converts a process of `composition.build` to a `LearningProcess`.

  `server_data`, an unplaced computation `( -> L*)`, gives the server's data.
  Clients' metrics are under `client_work/train`, as `tff.learning.programs`
  expect. Raises a TypeError if clients keep state between rounds.
  """
  if process.initialize_memory is not None:
    raise TypeError(
      'a LearningProcess has no memories of clients; build the process with'
      ' keep_client_momentum=False, of a method without init_memory'
    )
  state_type, _, client_data_type = process.next.type_signature.parameter
  weights_type = state_type.member.global_model_weights

  @tff.federated_computation(state_type, client_data_type)
  def next_fn(state, client_data):
    output = process.next(
      state, tff.federated_eval(server_data, tff.SERVER), client_data
    )
    metrics = output.metrics
    return tff.learning.templates.LearningProcessOutput(
      output.state,
      tff.federated_zip(
        collections.OrderedDict(
          client_work=collections.OrderedDict(train=metrics.client),
          server_work=metrics.server,
          aggregator=metrics.aggregator,
          learning_rate=metrics.learning_rate,
        )
      ),
    )

  return tff.learning.templates.LearningProcess(
    process.initialize,
    next_fn,
    get_model_weights=tff.tensorflow.computation(
      lambda state: state.global_model_weights, state_type.member
    ),
    set_model_weights=tff.tensorflow.computation(
      lambda state, weights: state._replace(global_model_weights=weights),
      [state_type.member, weights_type],
    ),
  )
