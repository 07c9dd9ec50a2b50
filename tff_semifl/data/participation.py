# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Counts the client updates of each client before a round."""

from collections.abc import Callable, Sequence

import numpy as np


class ParticipationCounter:
  """Counts the rounds that clients took part in.

  Counts follow from the cohorts of earlier rounds, so that checkpoints need not
  store them. The next round counts one cohort; a resumed run counts all earlier
  cohorts once.
  """

  def __init__(
    self, cohort_fn: Callable[[int], Sequence[int]], num_clients: int
  ):
    """Initializes the counter."""
    self._cohort_fn = cohort_fn
    self._counts = np.zeros(num_clients, np.int32)
    self._num_rounds = 0

  def before(self, round_num: int, clients: Sequence[int]) -> np.ndarray:
    """The number of earlier rounds of each client, int32 [clients]."""
    if round_num < self._num_rounds:
      self._counts[:] = 0
      self._num_rounds = 0
    while self._num_rounds < round_num:
      cohort = np.asarray(self._cohort_fn(self._num_rounds), np.int64)
      self._counts[cohort] += 1
      self._num_rounds += 1
    return self._counts[np.asarray(clients, np.int64)]
