# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A process with groups and slots, for tests."""

import collections
from typing import Any

from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.core import composition
from tff_semifl.core import federated_process

# A `GroupState`, and the memories of all slots.
SlottedState = collections.namedtuple(
  'SlottedState', (*composition.RoundState._fields, 'slots')
)


class SlottedProcess:
  """Runs rounds with a `SlotMemories` for the state of slots."""

  def __init__(
    self, process: federated_process.FederatedProcess, num_slots: int
  ):
    """Initializes the process."""
    self._process = process
    self._memories = group_averaging.SlotMemories(
      process.initialize_memory, num_slots
    )

  def initialize(self) -> SlottedState:
    """Returns the state before the first round."""
    return SlottedState(
      *self._process.initialize(), slots=self._memories.initialize()
    )

  def next(
    self, state: SlottedState, server_data: Any, client_data: list[Any]
  ) -> federated_process.RoundOutput:
    """Runs a round; clients are in the order of slots."""
    *process_state, held = state
    cohort = range(len(client_data))
    # The state of slots does not contain the round.
    output = self._process.next(
      composition.RoundState(*process_state),
      server_data,
      client_data,
      self._memories.recall(held, 0, cohort),
    )
    held = self._memories.keep(held, 0, cohort, output.memories)
    return output._replace(state=SlottedState(*output.state, slots=held))
