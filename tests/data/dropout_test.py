# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of clients that are chosen for a round and then not heard of."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.data import pipelines
from tff_semifl.data import sources


def _create(probability, *, clients_per_round=3, seed=0):
  """Creates ten clients with an image each."""
  data = sources.ImagePool(
    np.zeros([10, 2, 2, 1], np.uint8), np.zeros(10, np.int32)
  )
  return pipelines.ClientPopulation(
    data,
    np.split(np.arange(10), 10),
    clients_per_round=clients_per_round,
    seed=seed,
    dropout_probability=probability,
  )


def _client_id(dataset):
  return dataset.map(dict).get_single_element()['client_id']


class DropoutTest(parameterized.TestCase):
  def test_cohort_is_of_the_chosen_and_lacks_a_share_of_them(self):
    probability = 0.2
    population = _create(probability, clients_per_round=10)
    num_rounds = 300
    num_dropped = 0
    for round_num in range(1, num_rounds + 1):
      chosen = population.chosen(round_num)
      cohort = population.cohort(round_num)
      # In the order in which they were chosen.
      self.assertEqual(cohort, [c for c in chosen if c in cohort])
      num_dropped += len(chosen) - len(cohort)
    draws = 10 * num_rounds
    # Five standard deviations of the binomial distribution.
    self.assertAlmostEqual(
      num_dropped / draws,
      probability,
      delta=5 * np.sqrt(probability * (1 - probability) / draws),
    )

  def test_who_was_chosen_is_no_matter_of_dropout(self):
    for round_num in range(20):
      self.assertEqual(
        _create(0.9).chosen(round_num), _create(0.0).cohort(round_num)
      )

  def test_is_a_function_of_seed_and_round(self):
    def dropped(seed, rounds):
      population = _create(0.5, seed=seed, clients_per_round=10)
      return {
        n: frozenset(population.chosen(n)) - frozenset(population.cohort(n))
        for n in rounds
      }

    first = dropped(1, range(1, 20))
    self.assertEqual(dropped(1, range(19, 0, -1)), first)
    self.assertNotEqual(dropped(2, range(1, 20)), first)
    # Different clients drop out in different rounds.
    self.assertGreater(len(set(first.values())), 10)

  def test_datasets_are_those_of_the_cohort(self):
    population = _create(0.5, clients_per_round=10)
    cohort = population.cohort(1)
    self.assertBetween(len(cohort), 1, 9)
    self.assertEqual(
      [_client_id(each) for each in population.datasets(1)], cohort
    )
    self.assertLen(population.true_labels(1), len(cohort))
    # Statistics are of all, as is a population of another size.
    self.assertLen(population.all_datasets(), 10)
    changed = population.with_clients_per_round(9)
    self.assertLess(len(changed.cohort(1)), 9)

  @parameterized.parameters(-0.1, 1.0, float('nan'))
  def test_probability_out_of_range(self, probability):
    with self.assertRaisesRegex(ValueError, f'in .0, 1., not {probability}'):
      _create(probability)


if __name__ == '__main__':
  absltest.main()
