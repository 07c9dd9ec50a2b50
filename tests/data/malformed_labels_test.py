# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of partitions of any labels, by any numbers, right or wrong."""

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests import damage
from tff_semifl.data import partition
from tff_semifl.data import pipelines
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources

# Some labels are below 0 or above the last class.
_LABELS = strategies.lists(strategies.integers(-1, 4), max_size=60).map(
  lambda labels: np.array(labels, np.int32)
) | strategies.integers(0, 200).map(
  lambda num_images: np.arange(num_images, dtype=np.int32) % 3
)
_NUMBERS = strategies.integers(-2, 70)
_FEW = strategies.integers(-1, 5)
_FLOATS = (
  strategies.floats(0, 2)
  | strategies.floats()
  | strategies.sampled_from([1e-300, 1e-5, 1e6, 1e308])
)
_SEEDS = strategies.integers(0, 2**31 - 1)


class MalformedLabelsTest(parameterized.TestCase):
  def _assert_is_a_partition_or_refused(self, num_images, split):
    """Asserts that each image has one owner, or that there is an error."""
    try:
      shares = split()
    except ValueError as error:
      # The error is this project's, not NumPy's.
      self.assertRegex(str(error), 'image|class|client|concentration|in 0')
      self.assertNotIn('\n', str(error))
      return
    given = np.concatenate(shares)
    self.assertEqual(given.dtype, np.int64)
    self.assertLen(set(given), len(given))
    self.assertContainsSubset(given, range(num_images))

  @hypothesis.given(_LABELS, _NUMBERS, _FEW, _SEEDS)
  @damage.settings()
  def test_label_split(self, labels, num_labeled, num_classes, seed):
    self._assert_is_a_partition_or_refused(
      len(labels),
      lambda: partition.split_labels(labels, num_labeled, num_classes, seed),
    )

  @hypothesis.given(_NUMBERS, _NUMBERS, _SEEDS)
  @damage.settings()
  def test_iid(self, num_images, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      max(num_images, 0),
      lambda: partition.partition_iid(max(num_images, 0), num_clients, seed),
    )

  @hypothesis.given(_LABELS, _FEW, _FEW, _NUMBERS, _SEEDS)
  @damage.settings()
  def test_classes(self, labels, num_classes, per_client, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      len(labels),
      lambda: skewed_partition.partition_classes(
        labels, num_classes, per_client, num_clients, seed
      ),
    )

  @hypothesis.given(_LABELS, _FLOATS, _NUMBERS, _SEEDS)
  @damage.settings()
  def test_dirichlet(self, labels, concentration, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      len(labels),
      lambda: skewed_partition.partition_dirichlet(
        labels, concentration, num_clients, seed
      ),
    )

  @hypothesis.given(_LABELS, _FEW, _FLOATS, _NUMBERS, _SEEDS)
  @damage.settings()
  def test_main_classes(self, labels, num_classes, skew, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      len(labels),
      lambda: skewed_partition.partition_main_classes(
        labels, num_classes, skew, num_clients, seed
      ),
    )

  @parameterized.named_parameters(
    ('beyond', [[0, 1], [4]], 4, 'from 0 to 4 of 4 images'),
    ('negative', [[0], [-1]], 4, 'from -1 to 0 of 4 images'),
    ('fewer_labels', [[0], [1]], 3, '^4 images have 3 labels$'),
  )
  def test_population_of_other_images(self, shares, num_labels, message):
    data = sources.ImagePool(
      np.zeros([4, 2, 2, 1], np.uint8), np.zeros(num_labels, np.int32)
    )
    with self.assertRaisesRegex(ValueError, message):
      pipelines.ClientPopulation(
        data, [np.array(s) for s in shares], clients_per_round=1, seed=0
      )

  def test_population_of_clients_without_images(self):
    data = sources.ImagePool(
      np.zeros([0, 2, 2, 1], np.uint8), np.zeros(0, np.int32)
    )
    for shares in ([], [np.zeros(0, np.int64)] * 2):
      population = pipelines.ClientPopulation(
        data, shares, clients_per_round=len(shares), seed=0
      )
      self.assertLen(population.datasets(1), len(shares))


if __name__ == '__main__':
  absltest.main()
