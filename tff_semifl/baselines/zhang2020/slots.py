# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Memories of slots, held in main memory from round to round.

In the code of Zhang et al. a momentum belongs to the slot that a client takes
in a round, and not to the client. There are only as many slots as clients in a
round, so that their memories are part of a checkpoint.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tff_semifl.baselines.zhang2020 import group_averaging


class SlotMemories:
  """A `client_states.Memories` that keeps memories of slots instead of clients.

  The clients of a cohort take slots in their random order. If some drop out,
  the next move up; the last slots stay free and keep their memories.
  """

  def __init__(
    self,
    initialize_memory: Callable[[], group_averaging.SlotMemory],
    num_slots: int,
  ):
    """Initializes the slots.

    `initialize_memory` is that of a process from
    `compose_group_averaging_process`, with `num_slots` clients per round.
    """
    self._initialize_memory = initialize_memory
    self._num_slots = num_slots

  def initialize(self) -> tuple[group_averaging.SlotMemory, ...]:
    """The initial memories of the slots, in order."""
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
    """The memories of the first slots, for the clients of a cohort in turn."""
    del round_num
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
    """The memories of all slots after a round."""
    del round_num
    kept = [
      before if after is None else after
      for before, after in zip(held, returned, strict=False)
    ]
    return (*kept, *held[len(cohort) :])
