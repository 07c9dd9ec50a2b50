# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The shape of all processes: what a round takes and what it returns."""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow_federated as tff


class RoundOutput(NamedTuple):
  """What a round returns.

  Attributes:
    state: State of the process after the round, at SERVER.
    metrics: Measurements of the round, at SERVER.
    memories: What the round leaves of each client of the cohort, at CLIENTS;
      the empty structure if nothing of a client is remembered.
    given_labels: The `GivenLabels` of each client of the cohort, at CLIENTS,
      for a simulation that knows the truth; the empty structure if nobody asked
      for them.
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

  If something of a client is remembered until its next turn, such as its
  momentum, that is an argument and a result of a round. With C for what a
  client brings to a round, and R for what is left of it:

      initialize_memory: ( -> C)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              memories={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories={R}@CLIENTS,
                 given_labels={G}@CLIENTS or <>>)

  Whoever runs the process keeps the memories, and says whose a client brings:
  see `programs.memories`.
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    initialize_memory: tff.Computation | None = None,
  ):
    """Initialises the process.

    Args:
      initialize_fn: As above.
      next_fn: As above.
      initialize_memory: As above, what a client brings to its first turn; None
        if nothing of a client is remembered.

    Raises:
      TypeError: If the types are not as above.
    """
    super().__init__(initialize_fn, next_fn)
    parameter = next_fn.type_signature.parameter
    num_arguments = 3 if initialize_memory is None else 4
    if len(parameter) != num_arguments:
      raise TypeError(
        f'`next_fn` must take {num_arguments} arguments, as clients have'
        f' {"no" if initialize_memory is None else "a"} memory; found'
        f' {parameter}.'
      )
    if initialize_memory is not None:
      found = initialize_memory.type_signature.result
      if not parameter[3].member.is_assignable_from(found):
        raise TypeError(
          f'Clients bring memories {parameter[3].member} to a round, but'
          f' {found} to their first.'
        )
    self._initialize_memory = initialize_memory

  @property
  def initialize_memory(self) -> tff.Computation | None:
    """The computation ( -> C), or None if nothing is remembered."""
    return self._initialize_memory


def build_federated_process(
  initialize_fn: tff.Computation,
  run_round: Callable[..., RoundOutput],
  *,
  server_data_type: tff.Type,
  client_data_type: tff.Type,
  initialize_memory: tff.Computation | None = None,
) -> FederatedProcess:
  """Builds a process of which a round is one function.

  Args:
    initialize_fn: ( -> S@SERVER).
    run_round: (state, server data, client data) -> `RoundOutput`, called inside
      a federated computation; memories, if there are any, are a fourth
      argument. What it returns of clients may be empty at each of them.
    server_data_type: L*@SERVER.
    client_data_type: {U*}@CLIENTS.
    initialize_memory: ( -> C), or None if nothing of a client is remembered.
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

  return FederatedProcess(initialize_fn, next_fn, initialize_memory)


def _drop_if_empty(value: tff.Value | tuple[()]) -> tff.Value | tuple[()]:
  """Returns the empty structure for values that are empty at each client."""
  if value == () or value.type_signature.member == tff.types.to_type(()):
    return ()
  return value
