# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Stores of the memories that clients keep from round to round.

A process takes the memories of a cohort and returns new ones
(`federated_process.FederatedProcess`). The store decides which memory a client
gets and where the returned one is kept: the client's own
(`client_states.ClientMemories`), that of its slot in the round
(`slots.SlotMemories`), or one made of other clients' models
(`helpers.Helpers`).
"""

from collections.abc import Sequence
from typing import Any, Protocol


class Memories(Protocol):
  """A store of memories, in main memory or in files.

  Memories in main memory are passed from call to call like a process's state,
  and are part of checkpoints. Memories in files are kept by client and round
  while a checkpoint may need them. Either way, a round that is run again from a
  checkpoint has the same result.
  """

  def initialize(self) -> Any:
    """The memories held before the first round: arrays, or ()."""

  def recall(self, held: Any, round_num: int, cohort: Sequence[int]) -> list:
    """The memories of a cohort before a round, in the order of `cohort`.

    Args:
      held: The memories held in main memory before the round.
      round_num: The round.
      cohort: Numbers of the clients.
    """

  def keep(
    self, held: Any, round_num: int, cohort: Sequence[int], returned: list
  ) -> Any:
    """Keeps the memories of a cohort after a round.

    Args:
      held: The memories held in main memory before the round.
      round_num: The round. Memories of an earlier run of the round are
        replaced.
      cohort: Numbers of the clients.
      returned: The `memories` of the round's output, in the order of `cohort`;
        None for a client that dropped out during the round.

    Returns:
      The memories held in main memory after the round.
    """
