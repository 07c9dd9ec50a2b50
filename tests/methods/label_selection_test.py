# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of labeling a client's images once, and of selection by labels."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.methods import label_selection
from tff_semifl.training import given_labels
from tff_semifl.training import padded_rows
from tff_semifl.training import pseudo_labels
from tff_semifl.training import rows


class SelectTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.labels = pseudo_labels.from_logits(
      tf.constant([[0.0, 1.0], [3.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    )
    self.examples = (np.arange(4), np.arange(4)[:, np.newaxis] * 10)
    self.indices = tf.constant([7, 5, 6, 4])

  def test_mask_keeps_examples_with_their_labels(self):
    kept, given = label_selection.select(
      tf.constant([True, False, True, True]),
      self.labels,
      rows.AllRows(self.examples),
      self.indices,
    )
    examples, labels, weights = kept.examples
    self.assertAllEqual(examples[0], [0, 2, 3])
    self.assertAllEqual(examples[1], [[0], [20], [30]])
    self.assertAllEqual(labels, [1, 1, 0])
    self.assertEqual(weights, ())
    # All pseudo-labels, of which 3 of 4 were trained on.
    self.assertAllEqual(given.image, [7, 5, 6, 4])
    self.assertAllEqual(given.label, [1, 0, 1, 0])
    self.assertAllClose(given.share, [4 / 3, 0.0, 4 / 3, 4 / 3])

  def test_weights_go_with_their_examples(self):
    kept, given = label_selection.select(
      tf.constant([0.0, 0.5, 0.0, 2.0]),
      self.labels,
      rows.AllRows(self.examples),
      self.indices,
    )
    examples, labels, (weights,) = kept.examples
    self.assertAllEqual(examples[0], [1, 3])
    self.assertAllEqual(labels, [0, 0])
    self.assertAllClose(weights, [0.5, 2.0])
    self.assertAllClose(given.share, [0.0, 2.0, 0.0, 2.0])

  def test_nothing_may_be_selected(self):
    kept, given = label_selection.select(
      tf.fill([4], False),
      self.labels,
      rows.AllRows(self.examples),
      self.indices,
    )
    examples, labels, _ = kept.examples
    self.assertEqual(examples[1].shape, (0, 1))
    self.assertEmpty(labels)
    self.assertAllEqual(given.share, [0, 0, 0, 0])

  def test_padding_is_neither_kept_nor_labeled(self):
    kept, given = label_selection.select(
      tf.constant([True, False, True, True]),
      self.labels,
      padded_rows.PaddedRows(self.examples, tf.constant(3)),
      self.indices,
    )
    self.assertEqual(kept.number, 2)
    (first, _), labels, _ = kept.examples
    self.assertAllEqual(first, [0, 2, 1, 3])
    self.assertAllEqual(labels[:2], [1, 1])
    given = given_labels.drop_padding(given)
    self.assertAllEqual(given.image, [7, 5, 6])
    self.assertAllEqual(given.label, [1, 0, 1])
    self.assertAllClose(given.share, [3 / 2, 0.0, 3 / 2])


if __name__ == '__main__':
  absltest.main()
