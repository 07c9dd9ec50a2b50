# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The shape of all client work: what a cohort takes and what it returns.

TFF's `ClientWorkProcess` has a state at the server alone, as clients of a
cross-device setting are too many to be met twice. The paper's simulation has a
hundred, each of which keeps the momentum of its optimizer (D5), and only a
simulation has clients that return the pseudo-labels that they gave.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.work import given_labels as given_labels_lib


class ClientResult(NamedTuple):
  """TFF's `ClientResult`, and what is no part of the update.

  Attributes:
    update: Initial weights minus trained ones.
    update_weight: float32 scalar, at least 0.
    memory: What the turn leaves of the client; empty if it has no memory.
    given_labels: The pseudo-labels that it gave, if they are kept.
    report: What it says to `Guidance.update`, to be added up.
  """

  update: Any
  update_weight: Any
  memory: Any = ()
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT
  report: Any = ()


class ClientWorkProcess(tff.templates.MeasuredProcess):
  """TFF's `ClientWorkProcess` with memories beside the client data.

  With S for the state at the server, T for what clients receive, D for a
  sequence of client data, U for updates, G for `GivenLabels` or nothing, and M
  for metrics:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, {T}@CLIENTS, {D}@CLIENTS>
             -> <state=S@SERVER,
                 result={ClientResult<U, float32, <>, G>}@CLIENTS,
                 measurements=M@SERVER>)

  If clients have memories, with C for what one brings to its turn and R for
  what is left of it:

      initialize_memory: ( -> C)
      next: (<S@SERVER, {T}@CLIENTS, {D}@CLIENTS, {C}@CLIENTS>
             -> <state=S@SERVER,
                 result={ClientResult<U, float32, R, G>}@CLIENTS,
                 measurements=M@SERVER>)
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
        if clients have no memory.

    Raises:
      TypeError: If the types are not as above.
    """
    super().__init__(initialize_fn, next_fn)
    parameter = next_fn.type_signature.parameter
    num_arguments = 3 if initialize_memory is None else 4
    if len(parameter) != num_arguments or any(
      part.placement is not tff.CLIENTS for part in list(parameter)[1:]
    ):
      raise TypeError(
        'Client work takes a state at the server and, at the clients, what they'
        f' receive, data and, if they have any, memories; found {parameter}.'
      )
    if initialize_memory is not None:
      found = initialize_memory.type_signature.result
      if not parameter[3].member.is_assignable_from(found):
        raise TypeError(
          f'Clients bring memories {parameter[3].member} to a turn, but {found}'
          ' to their first.'
        )
    self._initialize_memory = initialize_memory

  @property
  def initialize_memory(self) -> tff.Computation | None:
    """The computation ( -> C), or None if clients have no memory."""
    return self._initialize_memory


def build_client_work_process(
  turn: tff.Computation,
  summarize: Callable[[Any], Any],
  initialize_memory: tff.Computation | None = None,
) -> ClientWorkProcess:
  """Places the turn of a client at clients, and what they say at the server.

  Args:
    turn: (<T, D> -> <ClientResult, sums>), or (<T, D, C> -> the same).
    summarize: Sums of all clients -> M, plain TensorFlow.
    initialize_memory: ( -> C), or None if clients have no memory.
  """

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_value((), tff.SERVER)

  types = (
    initialize_fn.type_signature.result,
    *(
      tff.FederatedType(part, tff.CLIENTS)
      for part in turn.type_signature.parameter
    ),
  )

  summary = tff.tensorflow.computation(summarize, turn.type_signature.result[1])

  def work(state: tff.Value, *arguments: tff.Value):
    result, sums = tff.federated_map(turn, arguments)
    metrics = tff.federated_map(summary, tff.federated_sum(sums))
    return tff.templates.MeasuredProcessOutput(state, result, metrics)

  if initialize_memory is None:

    @tff.federated_computation(*types)
    def next_fn(state, received, data):
      return work(state, received, data)

  else:

    @tff.federated_computation(*types)
    def next_fn(state, received, data, memories):
      return work(state, received, data, memories)

  return ClientWorkProcess(initialize_fn, next_fn, initialize_memory)
