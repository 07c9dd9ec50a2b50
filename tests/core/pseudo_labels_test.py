# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pseudo-labels, and of those that clients return."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.core import pseudo_labels


class FromLogitsTest(parameterized.TestCase, tf.test.TestCase):
  def test_equals_numpy(self):
    """The label is an integer, not a vector of probabilities (D12)."""
    logits = np.random.default_rng(0).normal(scale=3, size=(20, 6))
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)

    found = pseudo_labels.from_logits(tf.constant(logits, tf.float32))

    self.assertEqual(found.labels.dtype, tf.int32)
    self.assertAllEqual(found.labels, np.argmax(logits, axis=1))
    self.assertEqual(found.confidences.dtype, tf.float32)
    self.assertAllClose(found.confidences, probabilities.max(axis=1), rtol=1e-5)

  def test_huge_logits(self):
    found = pseudo_labels.from_logits(tf.constant([[-1e4, 0.0, 1e4]]))
    self.assertAllEqual(found.labels, [2])
    self.assertAllEqual(found.confidences, [1.0])

  @parameterized.parameters(tf.float16, tf.float64)
  def test_confidences_are_float32_whatever_the_logits_are(self, dtype):
    found = pseudo_labels.from_logits(tf.constant([[0.0, 3.0]], dtype))
    self.assertEqual(found.confidences.dtype, tf.float32)
    # A softmax in float16 would have only three correct digits.
    self.assertAllClose(
      found.confidences, [1 / (1 + np.exp(-3.0))], rtol=1e-6, atol=0
    )


class IsConfidentTest(tf.test.TestCase):
  def test_includes_the_threshold_itself(self):
    threshold = np.float32(0.95)
    confidences = [
      np.nextafter(threshold, np.float32(0)),
      threshold,
      np.nextafter(threshold, np.float32(1)),
    ]
    labels = pseudo_labels.PseudoLabels(
      labels=tf.zeros([3], tf.int32),
      confidences=tf.constant(confidences),
      probabilities=tf.zeros([3, 10]),
    )
    self.assertAllEqual(
      pseudo_labels.is_confident(labels, 0.95), [False, True, True]
    )


class CompleteTest(tf.test.TestCase):
  def test_of_classes(self):
    labels = pseudo_labels.complete(tf.constant([2, 0], tf.int64), 3)
    self.assertAllEqual(labels.labels, [2, 0])
    self.assertEqual(labels.labels.dtype, tf.int32)
    self.assertAllEqual(labels.confidences, [1.0, 1.0])
    self.assertAllEqual(labels.probabilities, [[0, 0, 1], [1, 0, 0]])

  def test_of_probabilities(self):
    probabilities = [[0.25, 0.75], [0.5, 0.5]]
    labels = pseudo_labels.complete(tf.constant(probabilities), 2)
    self.assertAllEqual(labels.labels, [1, 0])
    self.assertAllEqual(labels.confidences, [0.75, 0.5])
    self.assertAllEqual(labels.probabilities, probabilities)


class SelectionTest(tf.test.TestCase):
  def test_bools_weigh_the_same(self):
    found, weights = pseudo_labels.split_selection(tf.constant([False, True]))
    self.assertAllEqual(found, [False, True])
    self.assertEqual(weights, ())

  def test_what_weighs_nothing_is_left_out(self):
    found, (weights,) = pseudo_labels.split_selection(
      tf.constant([0.0, 0.25, 3.0])
    )
    self.assertAllEqual(found, [False, True, True])
    self.assertAllEqual(weights, [0.0, 0.25, 3.0])


class SharpenTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(1.0, 0.5, 0.1)
  def test_equals_numpy(self, temperature):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), size=8)
    powers = probabilities ** (1 / temperature)
    self.assertAllClose(
      pseudo_labels.sharpen(tf.constant(probabilities), temperature),
      powers / powers.sum(axis=1, keepdims=True),
    )

  def test_certainty_and_tiny_probabilities(self):
    found = pseudo_labels.sharpen(
      # The squares of these probabilities underflow float32.
      tf.constant([[0.0, 1.0, 0.0], [1e-30, 1e-30, 0.0]]),
      0.5,
    )
    self.assertAllClose(found, [[0, 1, 0], [0.5, 0.5, 0]])


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
