# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pseudo-labels, and of the pseudo-labels that clients return."""

from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tff_semifl.algorithms import client_parts
from tff_semifl.baselines.one_place import mixmatch
from tff_semifl.core import compiled_steps
from tff_semifl.core import pseudo_labels


class PseudoLabelsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(tf.float16, tf.float32, tf.float64)
  def test_of_logits(self, dtype):
    """The label is an integer, not a vector of probabilities."""
    logits = np.random.default_rng(0).normal(scale=3, size=(20, 6))
    logits[0] = [-1e4, 0, 0, 1e4, 0, 0]
    logits = logits.astype(dtype.as_numpy_dtype)
    probabilities = special.softmax(logits.astype(np.float64), axis=1)
    found = pseudo_labels.from_logits(tf.constant(logits))
    self.assertEqual(found.labels.dtype, tf.int32)
    self.assertAllEqual(found.labels, np.argmax(logits, axis=1))
    # A softmax in float16 would have only three correct digits.
    self.assertEqual(found.confidences.dtype, tf.float32)
    self.assertAllClose(found.confidences, probabilities.max(axis=1), rtol=1e-5)
    self.assertAllClose(found.probabilities, probabilities, rtol=1e-5)

  def test_threshold_is_included(self):
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
    selection = client_parts.FixedThreshold()
    self.assertAllEqual(selection.select(None, labels), [False, True, True])

  def test_of_classes(self):
    labels = pseudo_labels.complete(tf.constant([2, 0], tf.int64), 3)
    self.assertAllEqual(labels.labels, [2, 0])
    self.assertEqual(labels.labels.dtype, tf.int32)
    self.assertAllEqual(labels.confidences, [1.0, 1.0])
    self.assertAllEqual(labels.probabilities, [[0, 0, 1], [1, 0, 0]])

  @parameterized.parameters(1.0, 0.5, 0.1)
  def test_sharpening_equals_numpy(self, temperature):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), size=8)
    powers = probabilities ** (1 / temperature)
    self.assertAllClose(
      mixmatch.sharpen(tf.constant(probabilities), temperature),
      powers / powers.sum(axis=1, keepdims=True),
    )

  def test_sharpening_of_certainty_and_tiny_probabilities(self):
    found = mixmatch.sharpen(
      # The squares of these probabilities underflow float32.
      tf.constant([[0.0, 1.0, 0.0], [1e-30, 1e-30, 0.0]]),
      0.5,
    )
    self.assertAllClose(found, [[0, 1, 0], [0.5, 0.5, 0]])


class GivenLabelsTest(tf.test.TestCase):
  def test_none_trained_on_and_none_at_all(self):
    for number in (0, 3):
      given = pseudo_labels.give_at_once(
        tf.range(number), tf.range(number), tf.zeros([number], tf.bool)
      )
      self.assertAllEqual(given.share, np.zeros(number))

  def test_grow_in_a_loop_with_and_without_padding(self):
    @tf.function
    def label_batches(store, num_padding):
      def label_batch(number, given):
        images = tf.range(number + 1 + num_padding)
        added = pseudo_labels.give_at_once(
          images,
          images + 10 * number,
          tf.greater(images, 0),
          is_real=images <= number if num_padding else True,
        )
        return number + 1, given.extend(added)

      _, given = tf.while_loop(
        lambda number, _: number < 3, label_batch, (0, store())
      )
      return given.keep_if(tf.constant(True))

    for given in (
      label_batches(pseudo_labels.no_given_labels, 0),
      label_batches(lambda: compiled_steps.LabelBuffer.create(9), 2),
    ):
      self.assertAllEqual(given.image, [0, 0, 1, 0, 1, 2])
      self.assertAllEqual(given.label, [0, 10, 11, 20, 21, 22])
      # Groups of one, two and three labels; labels 0, 1 and 2 are trained on.
      self.assertAllClose(given.share, [0, 0, 2, 0, 3 / 2, 3 / 2])


if __name__ == '__main__':
  tf.test.main()
