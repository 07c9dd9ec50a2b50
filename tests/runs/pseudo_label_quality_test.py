# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of pseudo-labels against the truth (A.14, D17)."""

from absl.testing import absltest
import numpy as np

from tff_semifl.runs import round_metrics
from tff_semifl.training import pseudo_labels


def _given(*labels):
  """Returns the record of (image, label, share) triples."""
  image, label, share = zip(*labels, strict=True) if labels else ((), (), ())
  return pseudo_labels.GivenLabels(
    np.array(image, np.int32),
    np.array(label, np.int32),
    np.array(share, np.float32),
  )


class PseudoLabelQualityTest(absltest.TestCase):
  def test_clients_that_label_once(self):
    # Three of four images are trained on, two of them correctly labeled.
    first = _given((0, 5, 4 / 3), (1, 6, 4 / 3), (2, 7, 0), (3, 1, 4 / 3))
    # Neither of two images is trained on.
    second = _given((0, 1, 0), (1, 1, 0))
    found = round_metrics.measure_pseudo_labels(
      [first, second], [np.array([5, 6, 7, 8]), np.array([1, 2])]
    )
    # 3 of 4 and 1 of 2 are right.
    self.assertAlmostEqual(found['pseudo_accuracy'], 4 / 6, places=6)
    # (4 * 2 / 3 + 2 * 0) / 6: clients by their images, 0 for the second (D17).
    self.assertAlmostEqual(found['threshold_accuracy'], 8 / 18, places=6)
    self.assertAlmostEqual(found['micro_threshold_accuracy'], 2 / 3, places=6)

  def test_batches_of_one_client_count_by_their_size(self):
    """A.14: per mini-batch, weighted by its size."""
    given = _given(
      # A batch of three: two are trained on, one of them correctly labeled.
      *((0, 1, 3 / 2), (1, 1, 3 / 2), (2, 1, 0)),
      # A batch of one, rightly, of an image that has had another label.
      *((1, 2, 1),),
      # A batch of two, of which none is trained on.
      *((0, 1, 0), (2, 2, 0)),
    )
    found = round_metrics.measure_pseudo_labels([given], [np.array([1, 2, 3])])
    # Images 0, 1, 2 are of classes 1, 2, 3: right are the first, fourth, fifth.
    self.assertAlmostEqual(found['pseudo_accuracy'], 3 / 6, places=6)
    # (3 * 1/2 + 1 * 1 + 2 * 0) / 6.
    self.assertAlmostEqual(found['threshold_accuracy'], 2.5 / 6, places=6)
    self.assertAlmostEqual(found['micro_threshold_accuracy'], 2 / 3, places=6)

  def test_nothing_is_confident(self):
    found = round_metrics.measure_pseudo_labels(
      [_given((0, 1, 0))], [np.array([1])]
    )
    self.assertEqual(
      (found['pseudo_accuracy'], found['threshold_accuracy']), (1, 0)
    )
    self.assertTrue(np.isnan(found['micro_threshold_accuracy']))

  def test_no_clients_and_no_images(self):
    for given, truth in (([], []), ([_given()], [np.zeros(0, np.int32)])):
      found = round_metrics.measure_pseudo_labels(given, truth)
      np.testing.assert_array_equal([*found.values()], [np.nan] * 3)


if __name__ == '__main__':
  absltest.main()
