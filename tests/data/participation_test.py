# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that updates are counted by their definition, and each round once."""

from absl.testing import absltest
import numpy as np

from tff_semifl.data import participation

_COHORTS = ([], [2, 0], [1], [], [2, 1], [2], [0])


class TurnCounterTest(absltest.TestCase):
  def _create(self):
    asked = []

    def cohort(round_num):
      asked.append(round_num)
      return _COHORTS[round_num]

    return participation.ParticipationCounter(cohort, 4), asked

  def _expected(self, round_num):
    return [
      sum(client in cohort for cohort in _COHORTS[:round_num])
      for client in range(4)
    ]

  def test_counts_the_rounds_before(self):
    counter, _ = self._create()
    for round_num in range(len(_COHORTS) + 1):
      found = counter.before(round_num, range(4))
      self.assertEqual(found.tolist(), self._expected(round_num))
      self.assertEqual(found.dtype, np.int32)

  def test_clients_are_those_asked_for_in_their_order(self):
    counter, _ = self._create()
    self.assertEqual(counter.before(6, [2, 3, 1]).tolist(), [3, 0, 2])
    self.assertEqual(counter.before(6, []).tolist(), [])

  def test_any_round_can_be_the_first_or_come_again(self):
    """A resumed run begins in the middle; a diverged one repeats a round."""
    for rounds in ((5,), (5, 2, 6), (3, 3, 4)):
      counter, _ = self._create()
      for round_num in rounds:
        self.assertEqual(
          counter.before(round_num, range(4)).tolist(),
          self._expected(round_num),
        )

  def test_a_round_costs_one_cohort(self):
    counter, asked = self._create()
    for round_num in range(len(_COHORTS)):
      for _ in range(2):
        counter.before(round_num, [0])
    self.assertEqual(asked, list(range(len(_COHORTS) - 1)))

  def test_what_it_returned_does_not_change_later(self):
    counter, _ = self._create()
    before = counter.before(1, range(4))
    counter.before(6, range(4))
    self.assertEqual(before.tolist(), [0, 0, 0, 0])


if __name__ == '__main__':
  absltest.main()
