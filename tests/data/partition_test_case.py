# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Labels to partition, and assertions on all partitions."""

from absl.testing import parameterized
from hypothesis import strategies
import numpy as np

SEEDS = strategies.integers(0, 2**31 - 1)


def shuffled(counts, seed=0):
  """Returns so many labels of each class, in any order."""
  labels = np.repeat(np.arange(len(counts)), counts)
  return np.random.default_rng(seed).permutation(labels)


class PartitionTestCase(parameterized.TestCase):
  """Base of the tests of a partition."""

  def assert_each_image_has_one_owner(self, shares, num_images):
    given = np.concatenate(shares)
    self.assertEqual(given.dtype, np.int64)
    np.testing.assert_array_equal(np.sort(given), np.arange(num_images))
