# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keeps what slots keep from round to round, in main memory.

Of the benchmark's users, momentum belongs not to them but to the slots that
they take in a round (D47). There are as many slots as users in a round, so that
their memories are held in main memory, and are part of a checkpoint.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tff_semifl.algorithms import group_averaging


class SlotMemories:
  """The memories of all slots; clients have none (`memories.Memories`).

  Clients take slots in the order in which they come, which
  `ClientPopulation.cohort` makes random. If some vanish, those after them move
  up, and it is the last slots that nobody takes; they keep what they have.
  """

  def __init__(
    self,
    initialize_memory: Callable[[], group_averaging.SlotMemory],
    num_slots: int,
  ):
    """Initialises the slots.

    Args:
      initialize_memory: That of `compose_group_averaging_process`.
      num_slots: Its number of clients per round.
    """
    self._initialize_memory = initialize_memory
    self._num_slots = num_slots

  def initialize(self) -> tuple[group_averaging.SlotMemory, ...]:
    """Returns the memories of the slots, in the order of their numbers."""
    memory = self._initialize_memory()
    return tuple(
      memory._replace(slot=np.int32(number))
      for number in range(self._num_slots)
    )

  def recall(
    self,
    held: tuple[group_averaging.SlotMemory, ...],
    round_num: int,
    cohort: Sequence[int],
  ) -> list[group_averaging.SlotMemory]:
    """Returns the memories of the slots that a cohort takes.

    Args:
      held: Those of all slots.
      round_num: The round.
      cohort: Numbers of the clients, in the order of slots.

    Raises:
      ValueError: If there are more clients than slots.
    """
    del round_num  # A slot is taken in all rounds.
    if len(cohort) > self._num_slots:
      raise ValueError(
        f'{len(cohort)} clients cannot take {self._num_slots} slots.'
      )
    return list(held[: len(cohort)])

  def keep(
    self,
    held: tuple[group_averaging.SlotMemory, ...],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[group_averaging.SlotMemory],
  ) -> tuple[group_averaging.SlotMemory, ...]:
    """Returns the memories of all slots after a round.

    Args:
      held: Those before it.
      round_num: The round.
      cohort: Numbers of the clients that took slots.
      returned: What the round has left of these slots.
    """
    del round_num  # A slot is taken in all rounds.
    return (*returned, *held[len(cohort) :])
