# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of groups that are averaged apart: their sizes, and their means."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.baselines.zhang2020 import group_averaging


class SlotsPerGroupTest(parameterized.TestCase):
  @parameterized.parameters(
    # The paper's: 5+5, 10+10, 10+10+10, 10+10+10+10+7.
    (10, 2, 5),
    (47, 5, 10),
    # The server alone.
    (0, 1, 1),
  )
  def test_sizes(self, clients_per_round, num_groups, expected):
    self.assertEqual(
      group_averaging.slots_per_group(clients_per_round, num_groups), expected
    )

  @parameterized.parameters(
    (3, 4, '^3 clients .* in 4 groups; num_groups can be 1 to 3'),
    (3, 0, '^3 clients .* in 0 groups'),
    (0, 2, '^0 clients .* in 2 groups; num_groups can be 1 to 1'),
    # Four clients fill two groups of two.
    (4, 3, '^4 clients per round, 2 in each group, fill 2 groups and not 3'),
  )
  def test_group_without_slot(self, clients_per_round, num_groups, message):
    with self.assertRaisesRegex(ValueError, message):
      group_averaging.slots_per_group(clients_per_round, num_groups)


class GroupMeanTest(absltest.TestCase):
  def test_clients_weigh_what_they_say_and_a_replica_one(self):
    """Clients of weights 0.5 and 2 form one group; the other has no client."""
    received = (np.array([[8.0, 8.0], [1.0, 1.0]], np.float32),)
    replicas = (np.array([[1.0, 2.0], [3.0, 4.0]], np.float32),)
    sums = [
      group_averaging.sum_in_group(
        (tf.constant(update),), tf.constant(weight), 0, num_groups=2
      )
      for update, weight in (([2.0, 0.0], 0.5), ([1.0, 4.0], 2.0))
    ]
    (found,) = group_averaging.average_groups(
      received, tf.nest.map_structure(tf.add, *sums), replicas
    )
    # 8 - 2 and 8 - 1, 8 - 0 and 8 - 4.
    expected = [(0.5 * 6 + 2 * 7 + 1) / 3.5, (0.5 * 8 + 2 * 4 + 2) / 3.5]
    np.testing.assert_allclose(found, [expected, [3.0, 4.0]], rtol=1e-6)


if __name__ == '__main__':
  absltest.main()
