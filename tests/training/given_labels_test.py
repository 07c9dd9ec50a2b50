# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the record of a client's pseudo-labels."""

import numpy as np
import tensorflow as tf

from tff_semifl.training import pseudo_labels


class GivenLabelsTest(tf.test.TestCase):
  def test_share_is_of_those_that_were_trained_on(self):
    given = pseudo_labels.give_at_once(
      tf.constant([7, 2, 5, 0]),
      tf.constant([1, 1, 0, 2]),
      tf.constant([True, False, True, True]),
    )
    self.assertAllEqual(given.image, [7, 2, 5, 0])
    self.assertAllEqual(given.label, [1, 1, 0, 2])
    # Three of four labels are trained on.
    self.assertAllClose(given.share, [4 / 3, 0, 4 / 3, 4 / 3])

  def test_none_trained_on_and_none_at_all(self):
    for number in (0, 3):
      given = pseudo_labels.give_at_once(
        tf.range(number), tf.range(number), tf.zeros([number], tf.bool)
      )
      self.assertAllEqual(given.share, np.zeros(number))

  def test_grows_in_a_loop(self):
    @tf.function
    def label_batches():
      def label_batch(number, given):
        images = tf.range(number + 1)
        added = pseudo_labels.give_at_once(
          images, images + 10 * number, tf.greater(images, 0)
        )
        return number + 1, given.extend(added)

      _, given = tf.while_loop(
        lambda number, _: number < 3,
        label_batch,
        (0, pseudo_labels.no_given_labels()),
      )
      return given

    given = label_batches()
    self.assertAllEqual(given.image, [0, 0, 1, 0, 1, 2])
    self.assertAllEqual(given.label, [0, 10, 11, 20, 21, 22])
    # Groups of one, two and three labels; 0, 1 and 2 are trained on.
    self.assertAllClose(given.share, [0, 0, 2, 0, 3 / 2, 3 / 2])


if __name__ == '__main__':
  tf.test.main()
