# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what is given back of tensors."""

import gc
import sys

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl import sites
from tff_semifl.runtime import released


class ReleasedTest(absltest.TestCase):
  def test_nothing_is_left_of_tensors(self):
    array = np.ones(3, np.float32)

    def create_and_release():
      for _ in range(1000):
        released.release([tf.constant(array), [tf.constant(array)]])
      gc.collect()
      return sys.getallocatedblocks()

    # What TensorFlow and Python keep for later is there then.
    before = create_and_release()
    self.assertLess(create_and_release() - before, 100)

  def test_tensor_that_is_still_used(self):
    first, second, third = (tf.constant([1.0, number]) for number in range(3))
    released.release([first, second])
    np.testing.assert_array_equal(first + second, [2, 1])
    first.mine = 1
    released.release(third)
    self.assertFalse(hasattr(third, 'mine'))
    self.assertEqual(first.mine, 1)

  def test_others_keep_their_attributes(self):
    dataset = sites.SiteDataset('site', {}, (1, 1, 1))
    released.release([dataset, None, b'text'])
    self.assertEqual(dataset.site, 'site')


if __name__ == '__main__':
  absltest.main()
