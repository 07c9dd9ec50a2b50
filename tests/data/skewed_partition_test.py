# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of non-IID partitions: completeness, sizes, and the papers' rules."""

import collections
import itertools

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tff_semifl.data import skewed_partition

_SEEDS = strategies.integers(0, 2**31 - 1)


def _shuffled(counts, seed=0):
  """The given number of labels of each class, in random order."""
  labels = np.repeat(np.arange(len(counts)), counts)
  return np.random.default_rng(seed).permutation(labels)


@strategies.composite
def _class_problems(draw):
  """Draws labels, classes per client and a possible number of clients."""
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
  labels = _shuffled(counts, draw(_SEEDS))
  return labels, num_classes, classes_per_client, num_clients


class PartitionClassesTest(parameterized.TestCase):
  @hypothesis.given(_class_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_is_made_of_whole_shards_in_the_order_of_the_data(
    self, problem, seed
  ):
    """Shards are contiguous and equal; the first shards get the remainder."""
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
    self.assertLen(shares, num_clients)
    # Joins each client's images again, shard by shard.
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

  def test_a_client_can_be_dealt_a_class_twice(self):
    """Both shards of a client may have one class, as in SemiFL's code."""
    labels = _shuffled([200] * 10)
    num_single = 0
    for seed in range(20):
      shares = skewed_partition.partition_classes(labels, 10, 2, 100, seed)
      counts = skewed_partition.count_classes(labels, shares, 10)
      num_single += np.count_nonzero((counts > 0).sum(axis=1) == 1)
    # The second shard is one of 19 others of the class among 199: 19 / 199 of
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
    # 7 * 2 shards cannot be divided by 10; 5 * 2 can.
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
        _shuffled([60] * num_classes),
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
        _shuffled([9, 3]), 2, 2, num_clients=4, seed=0
      )


@strategies.composite
def _dirichlet_problems(draw):
  """Draws labels, a concentration and a possible number of clients."""
  num_clients = draw(strategies.integers(1, 8))
  counts = draw(
    strategies.lists(strategies.integers(0, 60), min_size=1, max_size=6)
  )
  # The average is three times the minimum: with 8 clients, one class and
  # concentration 1, one draw of 17 succeeds, (1 - 8 / 24)^7.
  counts[0] += max(30 * num_clients - sum(counts), 0)
  concentration = draw(strategies.floats(1, 100))
  return (
    _shuffled(counts, draw(_SEEDS)),
    concentration,
    num_clients,
  )


class PartitionDirichletTest(parameterized.TestCase):
  @hypothesis.given(_dirichlet_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_pieces_are_runs_in_the_order_of_the_data(self, problem, seed):
    """Nothing is shuffled, neither within classes nor between clients."""
    labels, _, num_clients = problem
    shares = skewed_partition.partition_dirichlet(*problem, seed)
    self.assertLen(shares, num_clients)
    self.assertGreaterEqual(min(len(indices) for indices in shares), 10)
    for class_index in np.unique(labels):
      np.testing.assert_array_equal(
        np.concatenate([i[labels[i] == class_index] for i in shares]),
        np.flatnonzero(labels == class_index),
      )
    for indices in shares:
      self.assertTrue(np.all(np.diff(labels[indices]) >= 0))

  @hypothesis.given(_dirichlet_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_who_has_the_average_gets_no_more(self, problem, seed):
    """A client with the average number of images gets none of later classes."""
    labels, _, num_clients = problem
    shares = skewed_partition.partition_dirichlet(*problem, seed)
    num_classes = int(labels.max()) + 1
    counts = skewed_partition.count_classes(labels, shares, num_classes)
    before = np.cumsum(counts, axis=1) - counts
    is_full = before >= len(labels) / num_clients
    # Cuts are rounded, so that at most one image is added.
    self.assertLessEqual(np.max(counts * is_full), 1)

  def test_skew_is_that_of_the_authors(self):
    """R is .85 and .74 with 100 clients, and decreases further."""
    labels = _shuffled([5000] * 10)

    def mean_skew(concentration):
      return np.mean(
        [
          skewed_partition.measure_label_skew(
            skewed_partition.count_classes(
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
    # The standard deviation of a share is then a thousandth of the share.
    self.assertLess(mean_skew(1e6), 0.01)

  def test_shares_of_the_first_class_are_dirichlet(self):
    # With one class and two clients, each client's share is uniform if both
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


@strategies.composite
def _problems(draw):
  """Draws labels, the number of classes, R and the number of clients."""
  num_classes = draw(strategies.integers(1, 6))
  num_clients = draw(strategies.integers(1, 12))
  sizes = draw(
    strategies.lists(
      # Each client has at least five images.
      strategies.integers(60, 200),
      min_size=num_classes,
      max_size=num_classes,
    )
  )
  labels = np.random.default_rng(draw(_SEEDS)).permutation(
    np.repeat(np.arange(num_classes), sizes)
  )
  return labels, num_classes, draw(strategies.floats(0, 1)), num_clients


def _deal(num_classes, num_clients):
  """Assigns ceil(classes / clients) main classes to each client, in turn."""
  remaining = itertools.cycle(range(num_classes))
  num_each = -(-num_classes // num_clients)
  return [
    list(itertools.islice(remaining, num_each)) for _ in range(num_clients)
  ]


def _equation_8(sizes, skew, num_clients):
  """Numbers of images by equation 8, before rounding.

  The result of equation 8 is summed over the main classes of a client.
  """
  num_classes, total = len(sizes), sum(sizes)
  numbers = np.zeros([num_clients, num_classes])
  dealt = _deal(num_classes, num_clients)
  for user, main_classes in enumerate(dealt):
    for j in main_classes:
      m = sum(j in others for others in dealt)
      for i in range(num_classes):
        numbers[user, i] += sizes[i] * (sizes[j] / total) * (1 - skew) / m
      numbers[user, j] += sizes[j] * skew / m
  return numbers


class PartitionMainClassesTest(parameterized.TestCase):
  @hypothesis.given(_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_numbers_are_those_of_equation_8(self, problem, seed):
    labels, num_classes, skew, num_clients = problem
    shares = skewed_partition.partition_main_classes(*problem, seed)
    self.assertLen(shares, num_clients)
    np.testing.assert_array_equal(
      np.sort(np.concatenate(shares)), np.arange(len(labels))
    )
    counts = skewed_partition.count_classes(labels, shares, num_classes)
    expected = _equation_8(np.bincount(labels), skew, num_clients)
    self.assertLess(np.abs(counts - expected).max(), 1 + 1e-6)
    # By n_j / m_j; rounding adds at most one image per class.
    self.assertLess(
      np.abs(counts.sum(axis=1) - expected.sum(axis=1)).max(), num_classes
    )

  @parameterized.parameters(
    # Pairs of clients with the same main class have distance 0: none of 45
    # pairs, 10 of 190, 30 of 435, 6 of 120. The numbers are from
    # docs/algorithms/data.md.
    (10, 0.4, 0.400),
    (30, 0.4 * 405 / 435, 0.372),
  )
  def test_measured_level(self, num_clients, expected, published):
    # CIFAR-10 without 1000 labels.
    labels = np.repeat(np.arange(10), 4900)
    shares = skewed_partition.partition_main_classes(
      labels, 10, 0.4, num_clients, seed=0
    )
    counts = skewed_partition.count_classes(labels, shares, 10)
    found = skewed_partition.measure_label_skew(counts)
    self.assertAlmostEqual(expected, published, places=3)
    self.assertAlmostEqual(found, expected, delta=2e-4)

  def test_fewer_clients_than_classes_have_several(self):
    # 1000 images for each client, and two main classes: half of the images of
    # the main classes, and of the other half each class an equal part.
    labels = np.repeat(np.arange(4), 1000)
    shares = skewed_partition.partition_main_classes(labels, 4, 0.5, 2, seed=0)
    np.testing.assert_array_equal(
      skewed_partition.count_classes(labels, shares, 4),
      [[750, 750, 250, 250], [250, 250, 750, 750]],
    )

  def test_main_class_without_images(self):
    with self.assertRaisesRegex(
      ValueError, r'client 1 of 2 .* main classes are 1'
    ):
      skewed_partition.partition_main_classes(
        np.zeros(10, np.int32), 2, 0.5, 2, seed=0
      )


class UnknownClassesTest(absltest.TestCase):
  def test_are_refused(self):
    labels = np.array([0, -1, -1, 1])
    for split, arguments in (
      (skewed_partition.partition_classes, (2, 1)),
      (skewed_partition.partition_dirichlet, (1.0,)),
      (skewed_partition.partition_main_classes, (2, 0.5)),
    ):
      with self.assertRaisesRegex(ValueError, '^2 of 4 .* no known class'):
        split(labels, *arguments, num_clients=2, seed=0)


def _measure_pair_by_pair(counts):
  """Equation 1 of Zhang et al., for each pair of clients."""
  fractions = counts / counts.sum(axis=1, keepdims=True)
  num_clients = len(counts)
  total = sum(
    np.abs(a - b).sum() for a, b in itertools.combinations(fractions, 2)
  )
  return total / (num_clients * (num_clients - 1))


class LabelSkewTest(absltest.TestCase):
  def test_is_equation_1(self):
    for seed in range(5):
      counts = np.random.default_rng(seed).integers(1, 30, (3 + seed, 4))
      found = skewed_partition.measure_label_skew(counts)
      self.assertAlmostEqual(found, _measure_pair_by_pair(counts), places=12)
    self.assertEqual(skewed_partition.measure_label_skew(np.array([[1, 2]])), 0)
