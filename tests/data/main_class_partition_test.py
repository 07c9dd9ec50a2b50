# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the partition of Zhang et al.: equation 8 and its level R."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tff_semifl.data import skewed_partition
from tff_semifl.experiments import data_figures
from tff_semifl.randomness import random_seeds

_SEEDS = strategies.integers(0, 2**31 - 1)
# SVHN's digits without 100 labeled images each.
_SVHN_SIZES = (4848, 13761, 10485, 8397, 7358, 6782, 5627, 5495, 4945, 4559)


@strategies.composite
def _problems(draw):
  """Draws labels, their number of classes, R and clients."""
  num_classes = draw(strategies.integers(1, 6))
  num_clients = draw(strategies.integers(1, 12))
  sizes = draw(
    strategies.lists(
      # Each client has five images at least.
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
  """Deals ceil(classes / clients) main classes each, round and round."""
  remaining = itertools.cycle(range(num_classes))
  num_each = -(-num_classes // num_clients)
  return [
    list(itertools.islice(remaining, num_each)) for _ in range(num_clients)
  ]


def _equation_8(sizes, skew, num_clients):
  """Numbers of images by equation 8, before rounding.

  A client has what equation 8 gives for each of its main classes.
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
  @hypothesis.settings(deadline=None)
  def test_numbers_are_those_of_equation_8(self, problem, seed):
    labels, num_classes, skew, num_clients = problem
    shares = skewed_partition.partition_main_classes(*problem, seed)
    self.assertLen(shares, num_clients)
    counts = data_figures.count_classes(labels, shares, num_classes)
    expected = _equation_8(np.bincount(labels), skew, num_clients)
    self.assertLess(np.abs(counts - expected).max(), 1 + 1e-6)
    # As n_j / m_j says; roundings of the classes add up to one each at most.
    self.assertLess(
      np.abs(counts.sum(axis=1) - expected.sum(axis=1)).max(), num_classes
    )

  @hypothesis.given(_problems(), _SEEDS)
  @hypothesis.settings(deadline=None)
  def test_no_image_has_two_clients_and_none_is_left(self, problem, seed):
    labels, *_ = problem
    shares = skewed_partition.partition_main_classes(*problem, seed)
    given = np.concatenate(shares)
    self.assertEqual(given.dtype, np.int64)
    np.testing.assert_array_equal(np.sort(given), np.arange(len(labels)))

  def test_other_seed_other_images_in_random_order(self):
    labels = np.repeat(np.arange(4), 100)
    first, other = (
      skewed_partition.partition_main_classes(labels, 4, 0.5, 4, seed)[0]
      for seed in (0, 1)
    )
    self.assertFalse(np.array_equal(np.sort(first), np.sort(other)))
    self.assertTrue(np.any(np.diff(labels[first]) < 0))

  @parameterized.parameters(
    # Pairs of clients that share a main class are at no distance (D31): none
    # of 45, 10 of 190, 30 of 435, 6 of 120. The numbers are the document's.
    (10, 0.4, 0.400),
    (30, 0.4 * 405 / 435, 0.372),
  )
  def test_measured_level(self, num_clients, expected, published):
    # CIFAR-10 after 1000 labels.
    labels = np.repeat(np.arange(10), 4900)
    shares = skewed_partition.partition_main_classes(
      labels, 10, 0.4, num_clients, seed=0
    )
    counts = data_figures.count_classes(labels, shares, 10)
    found = data_figures.measure_label_skew(counts)
    self.assertAlmostEqual(expected, published, places=3)
    self.assertAlmostEqual(found, expected, delta=2e-4)

  def test_level_of_classes_that_differ_in_size(self):
    """SVHN's: distances do not depend on sizes (equation 9)."""
    labels = np.repeat(np.arange(10), _SVHN_SIZES)
    shares = skewed_partition.partition_main_classes(
      labels, 10, 0.25, 10, seed=0
    )
    counts = data_figures.count_classes(labels, shares, 10)
    self.assertAlmostEqual(
      data_figures.measure_label_skew(counts), 0.25, delta=1e-3
    )
    # n_j / m_j, to within a rounding of each class.
    np.testing.assert_allclose(counts.sum(axis=1), _SVHN_SIZES, atol=5)

  def test_equal_remainders_do_not_pile_up(self):
    # EMNIST: 2300 * 0.6 / 47 = 29.4 of each other class, so that 17 of 47
    # clients have one more; in each class others.
    labels = np.repeat(np.arange(47), 2300)
    shares = skewed_partition.partition_main_classes(
      labels, 47, 0.4, 47, seed=0
    )
    self.assertEqual({len(share) for share in shares}, {2300})

  def test_fewer_clients_than_classes_have_several(self):
    # 1000 images each, two main classes each: half of the main classes, and of
    # the other half of all classes half each.
    labels = np.repeat(np.arange(4), 1000)
    shares = skewed_partition.partition_main_classes(labels, 4, 0.5, 2, seed=0)
    np.testing.assert_array_equal(
      data_figures.count_classes(labels, shares, 4),
      [[750, 750, 250, 250], [250, 250, 750, 750]],
    )

  def test_emnist_of_few_clients(self):
    """D32: the cells of Table G.1 with K = 10 and 20.

    ceil(47 / K) main classes each are 50 or 60 for 47 classes, so that the
    first 3 or 13 are those of two clients.
    """
    labels = np.repeat(np.arange(47), 2300)
    shares = skewed_partition.partition_main_classes(
      labels, 47, 0.4, 20, seed=0
    )
    counts = data_figures.count_classes(labels, shares, 47)
    self.assertEqual(counts.sum(), 47 * 2300)
    sizes = np.full(47, 2300)
    np.testing.assert_allclose(counts, _equation_8(sizes, 0.4, 20), atol=1)
    # A client with 5 classes of its own has 5 / 47 of the 0.6 * 2300 images of
    # any other class, 147, and none has more. Of a main class that it shares
    # each has 0.4 * 1150 = 460 besides.
    is_main = counts > 400
    self.assertEqual(set(is_main.sum(axis=1)), {3})
    np.testing.assert_array_equal(
      is_main.sum(axis=0), [2] * 13 + [1] * (47 - 13)
    )
    # No pair of clients is more than R apart.
    skew = data_figures.measure_label_skew(counts)
    self.assertBetween(skew, 0.35, 0.4)

  @parameterized.parameters(
    ([4900] * 10, 16, 0.4),
    ([4900] * 10, 30, 0.4),
    (_SVHN_SIZES, 30, 1.0),
    ([2300] * 47, 47, 0.4),
  )
  def test_as_many_clients_as_classes_have_one_each(
    self, sizes, num_clients, skew
  ):
    """Exactly the images that equation 8 and the seed determine."""
    num_classes = len(sizes)
    numbers = np.round(_equation_8(sizes, skew, num_clients), 9)
    counts = np.floor(numbers).astype(int)
    for j in range(num_classes):
      # Largest remainders first; of equal ones, who has fewest so far.
      by_need = sorted(
        range(num_clients),
        key=lambda u: (
          -round(numbers[u, j] - counts[u, j], 9),
          counts[u].sum(),
        ),
      )
      for user in by_need[: sizes[j] - counts[:, j].sum()]:
        counts[user, j] += 1
    labels = np.repeat(np.arange(num_classes), sizes)
    generator = random_seeds.numpy_generator(
      3, random_seeds.Purpose.CLIENT_PARTITION
    )
    expected = [[] for _ in range(num_clients)]
    for j in range(num_classes):
      images = list(generator.permutation(np.flatnonzero(labels == j)))
      for user in range(num_clients):
        expected[user] += images[: counts[user, j]]
        del images[: counts[user, j]]
    shares = skewed_partition.partition_main_classes(
      labels, num_classes, skew, num_clients, seed=3
    )
    for share, images in zip(shares, expected, strict=True):
      np.testing.assert_array_equal(share, generator.permutation(images))

  @parameterized.parameters(
    (1.1, 2, '^1.1 is not in 0..1'),
    (float('nan'), 2, '^nan is not in 0..1'),
    (0.5, 0, '^0 clients are too few'),
    (0.5, 41, '^8 unlabeled images cannot be shared among'),
  )
  def test_what_cannot_be(self, skew, num_clients, message):
    labels = np.repeat(np.arange(2), 4)
    with self.assertRaisesRegex(ValueError, message):
      skewed_partition.partition_main_classes(
        labels, 2, skew, num_clients, seed=0
      )

  def test_main_class_without_images(self):
    with self.assertRaisesRegex(
      ValueError, r'client 1 of 2 .* main classes are 1'
    ):
      skewed_partition.partition_main_classes(
        np.zeros(10, np.int32), 2, 0.5, 2, seed=0
      )

  def test_unknown_classes(self):
    with self.assertRaisesRegex(ValueError, '^2 of 4 .* no known class'):
      skewed_partition.partition_main_classes(
        np.array([0, -1, -1, 1]), 2, 0.5, 2, seed=0
      )


if __name__ == '__main__':
  absltest.main()
