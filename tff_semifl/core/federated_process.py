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
    state: State of the process after the round, at SERVER.
    metrics: Measurements of the round, at SERVER.
    memories: The memory of each client of the cohort after the round, at
      CLIENTS; the empty structure if clients have no memory.
    given_labels: The pseudo-labels (`GivenLabels`) of each client of the
      cohort, at CLIENTS, so that a simulation can compare them with the true
      labels; the empty structure if the process does not return them.
  """

  state: Any
  metrics: Any
  memories: Any = ()
  given_labels: Any = ()


class FederatedProcess(tff.templates.IterativeProcess):
  """An iterative process of clients and of a server that has data of its own.

  With S for its state, L for chunks of the server's data, U for chunks of a
  client's, M for metrics and G for `GivenLabels`:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories=<>,
                 given_labels={G}@CLIENTS or <>>)

  Clients may have a memory that lasts from one turn to the next, such as a
  momentum. It is then an argument and a result of a round. With C for the
  memory before a round and R for the memory after it:

      initialize_memory: ( -> C)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              memories={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories={R}@CLIENTS,
                 given_labels={G}@CLIENTS or <>>)

  A process may need a message of all clients before the first round with
  clients:

      prepare: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
                -> S@SERVER)

  The program that runs the process stores the memories between rounds, and
  decides which memory each client of a cohort receives (`programs.memories`).
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    initialize_memory: tff.Computation | None = None,
    prepare: tff.Computation | None = None,
  ):
    """Initializes the process.

    Args:
      initialize_fn: The computation `initialize` of the class's docstring.
      next_fn: The computation `next` of the class's docstring.
      initialize_memory: The computation `( -> C)` that returns a client's
        memory before its first turn; None if clients have no memory.
      prepare: The computation `prepare` of the class's docstring, or None.

    Raises:
      TypeError: If the types do not match those of the class's docstring.
    """
    super().__init__(initialize_fn, next_fn)
    client_work_process.check_memories(next_fn, initialize_memory)
    self._initialize_memory = initialize_memory
    self._prepare = prepare

  @property
  def prepare(self) -> tff.Computation | None:
    """The computation `prepare`, or None if there is nothing to prepare."""
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
    run_round: The function (state, server data, client data) -> `RoundOutput`,
      called inside a federated computation. If clients have memories, these are
      a fourth argument. The memories and given labels that it returns may be
      the empty structure at each client.
    server_data_type: The type L*@SERVER.
    client_data_type: The type {U*}@CLIENTS.
    initialize_memory: The computation ( -> C), or None if clients have no
      memory.
    prepare: A function (state, server data, client data) -> state, called
      inside a federated computation; or None.

  Returns:
    The process.
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
  """Returns the empty structure for values that are empty at each client."""
  if value == () or value.type_signature.member == tff.types.to_type(()):
    return ()
  return value
