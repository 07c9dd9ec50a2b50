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

  Memories that are held in main memory are passed from call to call, like the
  state of a process, and are part of the checkpoints. Memories in files are
  stored by client and round, for as long as a checkpoint may need them. So a
  round can be run again from any checkpoint, with the same result.
  """

  def initialize(self) -> Any:
    """Returns the memories held before the first round: arrays, or ()."""

  def recall(self, held: Any, round_num: int, cohort: Sequence[int]) -> list:
    """Returns the memories of the clients of a cohort before a round.

    Args:
      held: The memories held in main memory before the round.
      round_num: The round.
      cohort: Numbers of the clients.

    Returns:
      The memories, in the order of `cohort`.
    """

  def keep(
    self, held: Any, round_num: int, cohort: Sequence[int], returned: list
  ) -> Any:
    """Keeps the memories of a cohort after a round.

    Args:
      held: The memories held in main memory before the round.
      round_num: The round. If it has been run before, the memories that it
        returned then are replaced.
      cohort: Numbers of the clients.
      returned: The `memories` of the round's output, in the order of `cohort`;
        None for a client that dropped out in the middle of the round.

    Returns:
      The memories held in main memory after the round.
    """
