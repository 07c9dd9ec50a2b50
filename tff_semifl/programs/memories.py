# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Who keeps what is remembered of clients from round to round.

A process takes the memories of a cohort and returns them
(`federated_process.FederatedProcess`). Whose memory a client brings, and whose
it becomes, is no matter of the process but of the loop around it: it may be the
client's own (`client_states.ClientMemories`), that of the slot that it takes
(`slots.SlotMemories`), or made of the models of others (`helpers.Helpers`).
"""

from collections.abc import Sequence
from typing import Any, Protocol


class Memories(Protocol):
  """Keeps memories, in main memory or in files.

  What is held in main memory is passed from call to call, as the state of a
  process is, and becomes part of the checkpoints. What is in files is there by
  client and round, for as long as a checkpoint can need it. So a round can be
  run again from any checkpoint, and brings the same.
  """

  def initialize(self) -> Any:
    """Returns what is held before the first round: arrays, or ()."""

  def recall(self, held: Any, round_num: int, cohort: Sequence[int]) -> list:
    """Returns what the clients of a cohort bring to a round.

    Args:
      held: What is held before the round.
      round_num: The round.
      cohort: Numbers of the clients.
    """

  def keep(
    self, held: Any, round_num: int, cohort: Sequence[int], returned: list
  ) -> Any:
    """Keeps what a round has left of a cohort.

    Args:
      held: What is held before the round.
      round_num: The round. If it has been run before, what it left then is
        replaced.
      cohort: Numbers of the clients.
      returned: The `memories` of the round's output, in the same order.

    Returns:
      What is held after the round.
    """
