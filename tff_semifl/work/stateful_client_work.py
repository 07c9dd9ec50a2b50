# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work in which each client keeps a state from turn to turn (D5).

TFF's `ClientWorkProcess` has a state at the server alone, as clients of a
cross-device setting are too many to be met twice. The paper's simulation has a
hundred, each of which keeps the momentum of its optimizer.
"""

from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.work import given_labels as given_labels_lib


class StatefulClientResult(NamedTuple):
  """TFF's `ClientResult` and what stays at the client.

  Attributes:
    update: Initial weights minus trained ones.
    update_weight: float32 scalar.
    client_state: What the client has at its next turn.
    given_labels: The pseudo-labels that it gave, if they are kept.
  """

  update: Any
  update_weight: Any
  client_state: Any
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT


class StatefulClientWorkProcess(tff.templates.MeasuredProcess):
  """TFF's `ClientWorkProcess` with client states beside the client data.

  With S for the state at the server, R for what clients receive, D for a
  sequence of client data, C for the state of a client, U for updates, G for
  `GivenLabels` or nothing, and M for metrics:

      initialize: ( -> S@SERVER)
      initialize_client_state: ( -> C)
      next: (<S@SERVER, {R}@CLIENTS, {D}@CLIENTS, {C}@CLIENTS>
             -> <state=S@SERVER,
                 result={StatefulClientResult<U, float32, C, G>}@CLIENTS,
                 measurements=M@SERVER>)

  Whoever runs it keeps the states: they are arguments and results, placed at
  the clients they are of.
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    initialize_client_state: tff.Computation,
  ):
    """Initialises the process.

    Args:
      initialize_fn: As above.
      next_fn: As above.
      initialize_client_state: As above; the state before a client's first
        turn.

    Raises:
      TypeError: If the types are not as above.
    """
    super().__init__(initialize_fn, next_fn)
    parameter = next_fn.type_signature.parameter
    if len(parameter) != 4 or any(
      part.placement is not tff.CLIENTS for part in list(parameter)[1:]
    ):
      raise TypeError(
        'Stateful client work takes a state at the server and, at the clients,'
        f' what they receive, data and states; found {parameter}.'
      )
    client_state_type = parameter[3].member
    for name, found in (
      (
        'start with',
        initialize_client_state.type_signature.result,
      ),
      ('return', next_fn.type_signature.result.result.member.client_state),
    ):
      if not client_state_type.is_assignable_from(found):
        raise TypeError(
          f'Clients take states {client_state_type} but {name} {found}.'
        )
    self._initialize_client_state = initialize_client_state

  @property
  def initialize_client_state(self) -> tff.Computation:
    """The computation ( -> C) of a client's first state."""
    return self._initialize_client_state
