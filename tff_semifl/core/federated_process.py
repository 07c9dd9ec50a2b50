# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The interface of all processes: arguments and results of a round."""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.training import client_work_process


class RoundOutput(NamedTuple):
  """The result of a round.

  Attributes:
    state: The state after the round, at SERVER.
    metrics: Measurements of the round, at SERVER.
    memories: The memory of each client of the cohort after the round, at
      CLIENTS; () if clients have no memory.
    given_labels: The pseudo-labels (`GivenLabels`) of each client of the
      cohort, at CLIENTS, so that a simulation can compare them with the true
      labels; () if the process does not return them.
  """

  state: Any
  metrics: Any
  memories: Any = ()
  given_labels: Any = ()


class FederatedProcess(tff.templates.IterativeProcess):
  """An iterative process of clients and of a server with data of its own.

  With S for the state, L for chunks of the server's data, U for chunks of a
  client's data, M for metrics and G for `GivenLabels`:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories=<>,
                 given_labels={G}@CLIENTS or <>>)

  Clients may have a memory that lasts from round to round, such as an
  optimizer's momentum. With C for the memory before and R after a round:

      initialize_memory: ( -> C)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              memories={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories={R}@CLIENTS,
                 given_labels={G}@CLIENTS or <>>)

  A process may need a message of all clients before their first round:

      prepare: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
                -> S@SERVER)

  The program that runs the process stores memories between rounds, and gives
  each client of a cohort its own.
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    initialize_memory: tff.Computation | None = None,
    prepare: tff.Computation | None = None,
  ):
    """Checks and keeps the computations of the class's docstring.

    Raises:
      TypeError: If the types differ from those of the class's docstring.
    """
    super().__init__(initialize_fn, next_fn)
    client_work_process.check_memories(next_fn, initialize_memory)
    self._initialize_memory = initialize_memory
    self._prepare = prepare

  @property
  def prepare(self) -> tff.Computation | None:
    """The computation `prepare`, or None."""
    return self._prepare

  @property
  def initialize_memory(self) -> tff.Computation | None:
    """The computation ( -> C), or None if clients have no memory."""
    return self._initialize_memory


def build_federated_process(
  initialize_fn: tff.Computation,
  run_round: Callable[..., RoundOutput],
  *,
  server_data_type: tff.Type,
  client_data_type: tff.Type,
  initialize_memory: tff.Computation | None = None,
  prepare: Callable[..., tff.Value] | None = None,
) -> FederatedProcess:
  """Builds a process from a function that runs one round.

  Args:
    initialize_fn: The computation ( -> S@SERVER).
    run_round: (state, server data, client data, and memories if clients have
      any) -> `RoundOutput`, called inside a federated computation. Memories and
      given labels may be the empty structure at each client.
    server_data_type: The type L*@SERVER.
    client_data_type: The type {U*}@CLIENTS.
    initialize_memory: The computation ( -> C), or None if clients have no
      memory.
    prepare: (state, server data, client data) -> state, called inside a
      federated computation; or None.
  """
  types = (
    initialize_fn.type_signature.result,
    server_data_type,
    client_data_type,
  )

  def run(*arguments: tff.Value) -> RoundOutput:
    output = run_round(*arguments)
    return output._replace(
      memories=_drop_if_empty(output.memories),
      given_labels=_drop_if_empty(output.given_labels),
    )

  if initialize_memory is None:

    @tff.federated_computation(*types)
    def next_fn(state, server_data, client_data):
      return run(state, server_data, client_data)

  else:
    memory_type = initialize_memory.type_signature.result

    @tff.federated_computation(
      *types, tff.FederatedType(memory_type, tff.CLIENTS)
    )
    def next_fn(state, server_data, client_data, memories):
      return run(state, server_data, client_data, memories)

  prepare_fn = None
  if prepare is not None:

    @tff.federated_computation(*types)
    def prepare_fn(state, server_data, client_data):
      return prepare(state, server_data, client_data)

  return FederatedProcess(initialize_fn, next_fn, initialize_memory, prepare_fn)


def _drop_if_empty(value: tff.Value | tuple[()]) -> tff.Value | tuple[()]:
  """Replaces values that are empty at each client by ()."""
  if value == () or value.type_signature.member == tff.types.to_type(()):
    return ()
  return value
