# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Counts the rounds that clients have taken part in."""

from collections.abc import Callable, Sequence

import numpy as np


class TurnCounter:
  """Counts the turns that clients had before a round.

  Cohorts are a function of the round, and so are turns: nothing has to be saved
  for a run to go on where it ended. From one round to the next a single cohort
  is counted. If a run begins in the middle, or goes back, the cohorts of all
  earlier rounds are counted once.
  """

  def __init__(
    self, cohort_fn: Callable[[int], Sequence[int]], num_clients: int
  ):
    """Initializes the counter; nothing is counted yet.

    Args:
      cohort_fn: Round, from 0 -> the numbers of the clients that take part in
        it, each at most once.
      num_clients: Size of the population.
    """
    self._cohort_fn = cohort_fn
    self._counts = np.zeros(num_clients, np.int32)
    self._num_rounds = 0

  def before(self, round_num: int, clients: Sequence[int]) -> np.ndarray:
    """Counts the earlier rounds in which clients have taken part.

    Args:
      round_num: The round, from 0.
      clients: Numbers of the clients.

    Returns:
      int32 [clients], 0 for a client that takes part for the first time.
    """
    if round_num < self._num_rounds:
      self._counts[:] = 0
      self._num_rounds = 0
    while self._num_rounds < round_num:
      cohort = np.asarray(self._cohort_fn(self._num_rounds), np.int64)
      self._counts[cohort] += 1
      self._num_rounds += 1
    return self._counts[np.asarray(clients, np.int64)]
