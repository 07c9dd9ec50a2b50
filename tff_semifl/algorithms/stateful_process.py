# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An iterative process whose clients keep states from turn to turn (D5)."""

from typing import Any, NamedTuple

import tensorflow_federated as tff


class StatefulOutput(NamedTuple):
  """What a round returns if clients keep states.

  Attributes:
    state: As in `tff.learning.templates.LearningProcessOutput`.
    metrics: Likewise.
    client_states: The states of the cohort after its turn.
  """

  state: Any
  metrics: Any
  client_states: Any


class StatefulProcess(tff.templates.IterativeProcess):
  """A process that takes and returns the states of the round's clients.

  With S, D and M as the process has them and C for the state of a client:

      initialize: ( -> S@SERVER)
      initialize_client_state: ( -> C)
      next: (<S@SERVER, ..., {D}@CLIENTS, client_states={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, client_states={C}@CLIENTS>)

  Whoever runs it keeps the states, as `programs.client_states` does.
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
    """
    super().__init__(initialize_fn, next_fn)
    self._initialize_client_state = initialize_client_state

  @property
  def initialize_client_state(self) -> tff.Computation:
    """The computation ( -> C) of a client's first state."""
    return self._initialize_client_state
