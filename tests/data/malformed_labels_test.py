# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of partitions of arbitrary labels, with any allowed settings."""

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests import damage
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition

# Some labels are below 0 or above the last class.
_LABELS = strategies.lists(strategies.integers(-1, 4), max_size=60).map(
  lambda labels: np.array(labels, np.int32)
) | strategies.integers(0, 200).map(
  lambda num_images: np.arange(num_images, dtype=np.int32) % 3
)
_NUMBERS = strategies.integers(1, 70)
_FEW = strategies.integers(1, 5)
_FRACTIONS = strategies.floats(0, 1)
_SEEDS = strategies.integers(0, 2**31 - 1)


class MalformedLabelsTest(parameterized.TestCase):
  def _assert_is_a_partition_or_refused(self, num_images, split):
    """Asserts that each image has one owner, or that there is a clear error."""
    try:
      shares = split()
    except ValueError as error:
      # The error is this project's, not NumPy's.
      self.assertRegex(str(error), 'image|class|client|concentration')
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

  @hypothesis.given(strategies.integers(0, 70), _NUMBERS, _SEEDS)
  @damage.settings()
  def test_iid(self, num_images, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      num_images,
      lambda: partition.partition_iid(num_images, num_clients, seed),
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

  @hypothesis.given(_LABELS, _FEW, _FRACTIONS, _NUMBERS, _SEEDS)
  @damage.settings()
  def test_main_classes(self, labels, num_classes, skew, num_clients, seed):
    self._assert_is_a_partition_or_refused(
      len(labels),
      lambda: skewed_partition.partition_main_classes(
        labels, num_classes, skew, num_clients, seed
      ),
    )
