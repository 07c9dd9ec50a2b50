# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the Dirichlet partition: owners, sizes, and the authors' rules."""

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests.data import partition_test_case
from tff_semifl.data import skewed_partition
from tff_semifl.experiments import data_figures


@strategies.composite
def _dirichlet_problems(draw):
  """Draws labels, a concentration and a possible number of clients."""
  num_clients = draw(strategies.integers(1, 8))
  counts = draw(
    strategies.lists(strategies.integers(0, 60), min_size=1, max_size=6)
  )
  # On average thrice the least: with 8 clients, one class and concentration 1
  # one draw of 17 succeeds, (1 - 8 / 24)^7.
  counts[0] += max(30 * num_clients - sum(counts), 0)
  concentration = draw(strategies.floats(1, 100))
  return (
    partition_test_case.shuffled(counts, draw(partition_test_case.SEEDS)),
    concentration,
    num_clients,
  )


class PartitionDirichletTest(partition_test_case.PartitionTestCase):
  @hypothesis.given(_dirichlet_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None)
  def test_each_image_has_one_owner(self, problem, seed):
    labels, _, num_clients = problem
    shares = skewed_partition.partition_dirichlet(*problem, seed)
    self.assertLen(shares, num_clients)
    self.assert_each_image_has_one_owner(shares, len(labels))
    self.assertGreaterEqual(min(len(indices) for indices in shares), 10)

  @hypothesis.given(_dirichlet_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None)
  def test_pieces_are_runs_in_the_order_of_the_data(self, problem, seed):
    """Nothing is shuffled, class by class, client by client (D27)."""
    labels, _, _ = problem
    shares = skewed_partition.partition_dirichlet(*problem, seed)
    for class_index in np.unique(labels):
      np.testing.assert_array_equal(
        np.concatenate([i[labels[i] == class_index] for i in shares]),
        np.flatnonzero(labels == class_index),
      )
    for indices in shares:
      self.assertTrue(np.all(np.diff(labels[indices]) >= 0))

  @hypothesis.given(_dirichlet_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None)
  def test_who_has_the_average_gets_no_more(self, problem, seed):
    """The capacity rule, which the paper does not have (D27)."""
    labels, _, num_clients = problem
    shares = skewed_partition.partition_dirichlet(*problem, seed)
    num_classes = int(labels.max()) + 1
    counts = data_figures.count_classes(labels, shares, num_classes)
    before = np.cumsum(counts, axis=1) - counts
    is_full = before >= len(labels) / num_clients
    # Cuts are rounded: at most one image can slip in.
    self.assertLessEqual(np.max(counts * is_full), 1)

  def test_other_seed_other_clients(self):
    labels = partition_test_case.shuffled([500] * 10)
    sizes = [
      [
        len(indices)
        for indices in skewed_partition.partition_dirichlet(
          labels, 0.3, 10, seed
        )
      ]
      for seed in (1, 1, 2)
    ]
    self.assertEqual(sizes[0], sizes[1])
    self.assertNotEqual(sizes[0], sizes[2])

  def test_skew_is_that_of_the_authors(self):
    """R of .85 and .74 with 100 clients (C.5), and less and less after that."""
    labels = partition_test_case.shuffled([5000] * 10)

    def mean_skew(concentration):
      return np.mean(
        [
          data_figures.measure_label_skew(
            data_figures.count_classes(
              labels,
              skewed_partition.partition_dirichlet(
                labels, concentration, 100, seed
              ),
              10,
            )
          )
          for seed in range(5)
        ]
      )

    self.assertAlmostEqual(mean_skew(0.1), 0.85, delta=0.02)
    self.assertAlmostEqual(mean_skew(0.3), 0.74, delta=0.02)
    # A share's standard deviation is then a thousandth of itself.
    self.assertLess(mean_skew(1e6), 0.01)

  def test_shares_of_the_first_class_are_dirichlet(self):
    # One class, two clients: a share of each that is uniform when both
    # parameters are 1, with mean 1/2 and variance 1/12.
    labels = np.zeros(10_000, np.int32)
    shares = [
      len(skewed_partition.partition_dirichlet(labels, 1.0, 2, seed)[0])
      / 10_000
      for seed in range(400)
    ]
    self.assertAlmostEqual(np.mean(shares), 1 / 2, delta=5 * 0.289 / 20)
    # Squares of x - 1/2 have variance 1/80 - 1/144 = 0.0056.
    self.assertAlmostEqual(
      np.var(shares), 1 / 12, delta=5 * np.sqrt(0.0056 / 400)
    )

  @parameterized.parameters((99, 10), (100, 0))
  def test_too_few_images(self, num_images, num_clients):
    with self.assertRaisesRegex(
      ValueError,
      f'^{num_images} unlabeled images cannot be shared among {num_clients}'
      f' clients with 10 each; at most {num_images // 10} clients',
    ):
      skewed_partition.partition_dirichlet(
        np.zeros(num_images, np.int32), 1.0, num_clients, seed=0
      )

  def test_concentration_that_leaves_a_client_next_to_nothing(self):
    with self.assertRaisesRegex(
      ValueError,
      'left a client with fewer than 10 of 200 unlabeled images; fewer clients'
      ' than 20, or a concentration above 0.001',
    ):
      skewed_partition.partition_dirichlet(
        np.zeros(200, np.int32), 0.001, 20, seed=0
      )

  # NumPy would draw for ever with those near 0 and infinity.
  @parameterized.parameters(0.0, -1.0, np.nan, 1e-10, 1e308)
  def test_concentration_out_of_range(self, concentration):
    with self.assertRaisesRegex(ValueError, 'is from 0.001 to 1e.06, not'):
      skewed_partition.partition_dirichlet(
        np.zeros(100, np.int32), concentration, 2, seed=0
      )

  def test_unknown_classes(self):
    with self.assertRaisesRegex(ValueError, '^100 of 100 .* no known class'):
      skewed_partition.partition_dirichlet(np.full(100, -1), 1.0, 2, seed=0)


if __name__ == '__main__':
  absltest.main()
