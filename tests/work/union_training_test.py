# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the server's batches in steps on unions (D55), by the definition."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.work import union_training


class SelectFromStreamTest(parameterized.TestCase):
  @parameterized.parameters((7, 3), (6, 3), (5, 5), (3, 8), (1, 2))
  def test_batches_are_whole_and_in_a_row_orders_of_all(
    self, num_images, batch_size
  ):
    seed = tf.constant([1, 2])
    batches = [
      union_training.select_from_stream(
        num_images, batch_size, step, seed
      ).numpy()
      for step in range(12)
    ]
    self.assertEqual({len(batch) for batch in batches}, {batch_size})
    stream = np.concatenate(batches)
    orders = [
      stream[start : start + num_images]
      for start in range(0, len(stream) - num_images + 1, num_images)
    ]
    self.assertGreater(len(orders), 4)
    for order in orders:
      self.assertCountEqual(order, range(num_images))
    if num_images > 2:
      self.assertGreater(len({tuple(order) for order in orders}), 1)


if __name__ == '__main__':
  absltest.main()
