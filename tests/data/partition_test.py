# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that partitions give each image to one client."""

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tff_semifl.data import partition

_SEEDS = strategies.integers(0, 2**31 - 1)


@strategies.composite
def _label_problems(draw):
  """Draws labels and a possible number of labeled images."""
  counts = draw(strategies.lists(strategies.integers(1, 12), min_size=1))
  per_class = draw(strategies.integers(1, min(counts)))
  labels = np.repeat(np.arange(len(counts)), counts)
  shuffle_seed = draw(_SEEDS)
  labels = np.random.default_rng(shuffle_seed).permutation(labels)
  return labels, per_class * len(counts), len(counts)


@strategies.composite
def _client_problems(draw):
  """Draws a number of images, and at most as many clients."""
  num_images = draw(strategies.integers(1, 200))
  return num_images, draw(strategies.integers(1, num_images))


class SplitLabelsTest(parameterized.TestCase):
  @hypothesis.given(_label_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_classes_are_balanced_and_every_image_is_in_one_part(
    self, problem, seed
  ):
    labels, num_labeled, num_classes = problem
    split = partition.split_labels(labels, num_labeled, num_classes, seed)
    # Sizes and sorted indices show that the parts are disjoint and complete.
    self.assertLen(split.labeled, num_labeled)
    self.assertEqual(
      sorted([*split.labeled, *split.unlabeled]), list(range(len(labels)))
    )
    np.testing.assert_array_equal(
      np.bincount(labels[split.labeled], minlength=num_classes),
      np.full(num_classes, num_labeled // num_classes),
    )
    # The remaining images keep their order.
    self.assertEqual(split.unlabeled.tolist(), sorted(split.unlabeled))
    self.assertEqual(split.labeled.dtype, np.int64)
    self.assertEqual(split.unlabeled.dtype, np.int64)

  def test_every_image_is_as_likely_to_be_labeled(self):
    num_seeds = 400
    labels = np.array([0] * 4 + [1] * 8)
    times_labeled = np.zeros(12)
    for seed in range(num_seeds):
      times_labeled[partition.split_labels(labels, 4, 2, seed).labeled] += 1
    # Two of four, and two of eight; 5 standard deviations of sqrt(400 / 4).
    np.testing.assert_allclose(
      times_labeled, [200] * 4 + [100] * 8, rtol=0, atol=50
    )

  @parameterized.parameters(
    (7, '6 or 9 can'), (2, '3 or 6 can'), (0, '3 or 6 can')
  )
  def test_number_that_does_not_divide(self, num_labeled, possible):
    with self.assertRaisesRegex(
      ValueError,
      f'^{num_labeled} labeled images cannot be the same number for each of 3'
      f' classes; {possible}',
    ):
      partition.split_labels(np.arange(30) % 3, num_labeled, 3, seed=0)

  def test_class_with_too_few_images(self):
    labels = np.array([0] * 5 + [1] * 2 + [2] * 4)
    with self.assertRaisesRegex(
      ValueError,
      '^9 labeled images take 3 of each class, but class 1 has 2; at most 6'
      ' are possible',
    ):
      partition.split_labels(labels, 9, 3, seed=0)
    self.assertLen(partition.split_labels(labels, 6, 3, seed=0).labeled, 6)


class PartitionIidTest(parameterized.TestCase):
  @hypothesis.given(_client_problems(), _SEEDS)
  @hypothesis.settings(deadline=None, max_examples=30)
  def test_clients_share_the_images_equally(self, problem, seed):
    num_images, num_clients = problem
    clients = partition.partition_iid(num_images, num_clients, seed)
    self.assertLen(clients, num_clients)
    self.assertEqual(
      {len(indices) for indices in clients}, {num_images // num_clients}
    )
    given = np.concatenate(clients)
    self.assertLen(
      set(given.tolist()), len(given), 'Some image is there twice.'
    )
    self.assertBetween(given.min(), 0, num_images - 1)
    self.assertBetween(given.max(), 0, num_images - 1)
    # The remainder is dropped, as in the authors' code.
    self.assertLess(num_images - len(given), num_clients)

  def test_every_image_is_as_likely_to_be_left_out(self):
    num_seeds = 500
    times_given = np.zeros(5)
    for seed in range(num_seeds):
      for indices in partition.partition_iid(5, 4, seed):
        times_given[indices] += 1
    # Four of five: 400, within 5 standard deviations of sqrt(500 * 4 / 25).
    np.testing.assert_allclose(times_given, 400, rtol=0, atol=45)

  @parameterized.parameters((10, 0), (10, 11), (10, -1))
  def test_number_of_clients_out_of_range(self, num_images, num_clients):
    with self.assertRaisesRegex(
      ValueError,
      f'^{num_images} unlabeled images cannot be shared among {num_clients}'
      f' clients; 1 to {num_images}',
    ):
      partition.partition_iid(num_images, num_clients, seed=0)


class CheckSharesTest(parameterized.TestCase):
  def test_images_may_be_left(self):
    partition.check_shares([np.array([2, 0]), np.array([1])], 4)
    partition.check_shares([], 0)

  @parameterized.parameters(
    ([[0, 1], [1, 2, 3]], '^1 of 4 unlabeled images have more than one'),
    ([[0, 0, 1, 2, 3]], '^1 of 4 unlabeled images have more than one'),
    ([[0, 1], [4]], '^clients have indices from 0 to 4 of 4 images'),
    ([[0], [-1]], '^clients have indices from -1 to 0 of 4 images'),
  )
  def test_others_are_an_error(self, shares, message):
    with self.assertRaisesRegex(ValueError, message):
      partition.check_shares([np.array(share) for share in shares], 4)
