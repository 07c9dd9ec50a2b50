# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work with memories and given labels beside the update.

TFF's `ClientWorkProcess` has only a state at the server. A simulation of few
clients can also keep a memory for each client, such as a momentum, and return
the pseudo-labels that clients gave.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.training import given_labels as given_labels_lib


class ClientResult(NamedTuple):
  """TFF's `ClientResult` with further fields.

  Attributes:
    update: Received weights minus trained weights.
    update_weight: float32 scalar, at least 0.
    memory: The memory that the client keeps; empty if it has none.
    given_labels: The pseudo-labels of the client, if they are kept.
    report: The message to `Guidance.update`, to be summed.
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

  If clients have memories, with C for the memory before and R after a round:

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
    """Checks and keeps the computations of the class's docstring.

    Raises:
      TypeError: If the types differ from those of the class's docstring.
    """
    super().__init__(initialize_fn, next_fn)
    check_memories(next_fn, initialize_memory)
    parameter = next_fn.type_signature.parameter
    if any(part.placement is not tff.CLIENTS for part in list(parameter)[1:]):
      raise TypeError(
        '`next_fn` must take a state at the server and, at the clients,'
        ' received values, data and, if `initialize_memory` is given, memories;'
        f' found {parameter}.'
      )
    self._initialize_memory = initialize_memory

  @property
  def initialize_memory(self) -> tff.Computation | None:
    """The computation ( -> C), or None if clients have no memory."""
    return self._initialize_memory


def check_memories(
  next_fn: tff.Computation, initialize_memory: tff.Computation | None
) -> None:
  """Checks that a computation takes memories if and only if clients have any.

  `next_fn` takes memories as its fourth argument.

  Raises:
    TypeError: If it takes more or fewer arguments, or memories of another type.
  """
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
        '`initialize_memory` must return the memory that `next_fn` takes,'
        f' {parameter[3].member}; found {found}.'
      )


def build_client_work_process(
  client_update: tff.Computation,
  summarize: Callable[[Any], Any],
  initialize_memory: tff.Computation | None = None,
) -> ClientWorkProcess:
  """Builds client work without state from the computation of one client.

  Args:
    client_update: (<T, D> -> <ClientResult, sums>), or (<T, D, C> -> the same).
    summarize: Sums over all clients -> M, plain TensorFlow.
    initialize_memory: ( -> C), or None if clients have no memory.
  """

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_value((), tff.SERVER)

  types = (
    initialize_fn.type_signature.result,
    *(
      tff.FederatedType(part, tff.CLIENTS)
      for part in client_update.type_signature.parameter
    ),
  )

  summary = tff.tensorflow.computation(
    summarize, client_update.type_signature.result[1]
  )

  def work(state: tff.Value, *arguments: tff.Value):
    result, sums = tff.federated_map(client_update, arguments)
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
