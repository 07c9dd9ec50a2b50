# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Memories of slots, held in main memory from round to round.

In the experiments of Zhang et al. a momentum belongs not to a user but to the
slot that a user takes in a round (D47). There are only as many slots as users
in a round, so that the memories are held in main memory and are part of a
checkpoint.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tff_semifl.baselines.zhang2020 import group_averaging


class SlotMemories:
  """The memories of all slots; clients have none (`memories.Memories`).

  The clients of a cohort take slots in their order, which
  `ClientPopulation.cohort` makes random. If some of them drop out, those after
  them move up, and the last slots stay free; they keep their memories.
  """

  def __init__(
    self,
    initialize_memory: Callable[[], group_averaging.SlotMemory],
    num_slots: int,
  ):
    """Initializes the slots.

    Args:
      initialize_memory: The computation `initialize_memory` of a process from
        `compose_group_averaging_process`.
      num_slots: The number of clients per round of that process.
    """
    self._initialize_memory = initialize_memory
    self._num_slots = num_slots

  def initialize(self) -> tuple[group_averaging.SlotMemory, ...]:
    """Returns the initial memories of the slots, in the order of slots."""
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
    """Returns the memories of the first slots, which a cohort takes in turn.

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
    returned: Sequence[group_averaging.SlotMemory | None],
  ) -> tuple[group_averaging.SlotMemory, ...]:
    """Returns the memories of all slots after a round."""
    del round_num  # A slot is taken in all rounds.
    kept = [
      before if after is None else after
      for before, after in zip(held, returned, strict=False)
    ]
    return (*kept, *held[len(cohort) :])
