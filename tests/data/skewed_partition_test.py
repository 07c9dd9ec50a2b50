# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the partition by classes: owners, sizes, and the authors' rules."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests.data import partition_test_case
from tff_semifl.data import skewed_partition
from tff_semifl.experiments import data_figures

# The published numbers of training images of SVHN, by digit (C.1).
_SVHN_COUNTS = (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659)


@strategies.composite
def _class_problems(draw):
  """Draws labels, classes of a client and a possible number of clients."""
  num_classes = draw(strategies.integers(1, 6))
  classes_per_client = draw(strategies.integers(1, num_classes))
  # Multiples of the number of classes always divide evenly.
  num_clients = num_classes * draw(strategies.integers(1, 4))
  num_shards = num_clients * classes_per_client // num_classes
  counts = draw(
    strategies.lists(
      strategies.integers(num_shards, num_shards + 20),
      min_size=num_classes,
      max_size=num_classes,
    )
  )
  labels = partition_test_case.shuffled(counts, draw(partition_test_case.SEEDS))
  return labels, num_classes, classes_per_client, num_clients


class PartitionClassesTest(partition_test_case.PartitionTestCase):
  @hypothesis.given(_class_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None)
  def test_each_image_has_one_owner(self, problem, seed):
    labels, num_classes, classes_per_client, num_clients = problem
    shares = skewed_partition.partition_classes(*problem, seed)
    self.assertLen(shares, num_clients)
    self.assert_each_image_has_one_owner(shares, len(labels))
    counts = data_figures.count_classes(labels, shares, num_classes)
    self.assertBetween((counts > 0).sum(axis=1).max(), 1, classes_per_client)

  @hypothesis.given(_class_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None)
  def test_is_made_of_whole_shards_in_the_order_of_the_data(
    self, problem, seed
  ):
    """Contiguous equal shards, leftovers one each to the first (D26)."""
    labels, num_classes, classes_per_client, num_clients = problem
    num_shards = num_clients * classes_per_client // num_classes
    expected = []
    for class_index in range(num_classes):
      indices = [i for i, label in enumerate(labels) if label == class_index]
      size = len(indices) // num_shards
      for shard in range(num_shards):
        left_over = indices[num_shards * size + shard :][:1]
        expected.append(
          (*indices[shard * size : (shard + 1) * size], *left_over)
        )
    shares = skewed_partition.partition_classes(*problem, seed)
    # Put each client's images together again, shard by shard.
    owner = {shard[0]: shard for shard in expected}
    found = []
    for indices in shares:
      rest = indices.tolist()
      for _ in range(classes_per_client):
        shard = owner[rest[0]]
        self.assertEqual(tuple(rest[: len(shard)]), shard)
        found.append(shard)
        rest = rest[len(shard) :]
      self.assertEmpty(rest)
    self.assertCountEqual(found, expected)

  @hypothesis.given(_class_problems(), partition_test_case.SEEDS)
  @hypothesis.settings(deadline=None, max_examples=20)
  def test_same_seed_same_clients(self, problem, seed):
    for first, again in zip(
      skewed_partition.partition_classes(*problem, seed),
      skewed_partition.partition_classes(*problem, seed),
      strict=True,
    ):
      np.testing.assert_array_equal(first, again)

  def test_leftovers_go_to_the_first_shards_and_not_to_the_neighbors(self):
    # 8 images in 3 shards of 2, and 6 and 7 are left.
    shares = skewed_partition.partition_classes(
      np.zeros(8, np.int32), 1, 1, 3, seed=0
    )
    self.assertCountEqual(
      [indices.tolist() for indices in shares], [[0, 1, 6], [2, 3, 7], [4, 5]]
    )

  def test_sizes_on_svhn_follow_those_of_the_classes(self):
    """231 to 692 images a shard, 25 of each class taken for labels (D26)."""
    labels = partition_test_case.shuffled(
      [count - 25 for count in _SVHN_COUNTS]
    )
    shares = skewed_partition.partition_classes(labels, 10, 2, 100, seed=0)
    sizes = [len(indices) for indices in shares]
    # Two shards of digit 9, 4634 / 20, to two of digit 1, 13836 / 20.
    self.assertBetween(min(sizes), 2 * 231, 2 * 350)
    self.assertBetween(max(sizes), 1000, 2 * 692)

  def test_a_client_can_be_dealt_a_class_twice(self):
    """9.4% of clients with two of ten classes, which we keep (D26)."""
    labels = partition_test_case.shuffled([200] * 10)
    num_single = 0
    for seed in range(20):
      shares = skewed_partition.partition_classes(labels, 10, 2, 100, seed)
      counts = data_figures.count_classes(labels, shares, 10)
      num_single += np.count_nonzero((counts > 0).sum(axis=1) == 1)
    # The second card is one of 19 more of the class among 199: 19 / 199 of
    # 2,000 clients, within 5 standard deviations.
    expected = 2000 * 19 / 199
    self.assertAlmostEqual(num_single, expected, delta=5 * np.sqrt(expected))

  def test_shards_are_dealt_at_random(self):
    labels = np.repeat(np.arange(2), 50)
    first_shard_owners = collections.Counter()
    for seed in range(400):
      shares = skewed_partition.partition_classes(labels, 2, 1, 4, seed)
      for client, indices in enumerate(shares):
        if 0 in indices:
          first_shard_owners[client] += 1
    # A quarter each: 100, within 5 standard deviations of sqrt(400 * 3 / 16).
    for client in range(4):
      self.assertAlmostEqual(first_shard_owners[client], 100, delta=5 * 8.7)

  @parameterized.parameters(
    # 7 * 2 shards do not divide by 10; 5 * 2 do.
    (10, 2, 7, '7 clients .* 5 or 10 clients can'),
    (10, 3, 25, '25 clients .* 20 or 30 clients can'),
    (10, 2, 0, '0 clients .* 5 or 10 clients can'),
    (10, 0, 10, 'cannot have 0 of 10 classes; 1 to 10 can be'),
    (10, 11, 10, 'cannot have 11 of 10 classes'),
  )
  def test_numbers_that_do_not_go_together(
    self, num_classes, classes_per_client, num_clients, message
  ):
    with self.assertRaisesRegex(ValueError, message):
      skewed_partition.partition_classes(
        partition_test_case.shuffled([60] * num_classes),
        num_classes,
        classes_per_client,
        num_clients,
        seed=0,
      )

  def test_class_with_fewer_images_than_shards(self):
    with self.assertRaisesRegex(
      ValueError, 'take 4 images of each class, but class 1 has 3'
    ):
      skewed_partition.partition_classes(
        partition_test_case.shuffled([9, 3]), 2, 2, num_clients=4, seed=0
      )

  def test_unknown_classes(self):
    with self.assertRaisesRegex(ValueError, '^2 of 4 .* no known class'):
      skewed_partition.partition_classes(
        np.array([0, -1, -1, 1]), 2, 1, num_clients=2, seed=0
      )


if __name__ == '__main__':
  absltest.main()
