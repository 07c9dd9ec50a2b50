# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the accuracies of clients, and of their figure."""

from absl.testing import absltest
import numpy as np

from tff_semifl.metrics import client_accuracy
from tff_semifl.plots import figures


class ClientAccuracyTest(absltest.TestCase):
  def test_counts_images_with_labels_alone(self):
    labels = np.array([0, 1, -1, 2, -1, 0])
    predicted = np.array([0, 0, -1, 2, -1, 1])
    shares = [
      np.array([0, 1, 2]),
      np.array([4]),
      np.array([5, 3]),
      np.array([]),
    ]
    self.assertEqual(
      client_accuracy.count(
        labels, predicted, [share.astype(int) for share in shares], -1, 'abcd'
      ),
      # Client b has no label, and client d no image.
      [('a', 1, 2), ('c', 1, 2)],
    )

  def test_worst_tenth(self):
    clients = [
      client_accuracy.ClientAccuracy(str(number), right, 20)
      for number, right in enumerate([10, 20, 4, 12, 14, 16, 4, 18, 20, 20, 6])
    ]
    spread = client_accuracy.summarize(clients)
    # The worst tenth of eleven is two clients: both have 4 of 20 correct.
    self.assertAlmostEqual(spread.worst_tenth, 0.2)
    self.assertEqual(spread.worst.client, '2')
    self.assertAlmostEqual(spread.mean, 144 / 220)
    self.assertAlmostEqual(
      spread.deviation, np.std([each.num_right / 20 for each in clients])
    )

  def test_one_client(self):
    spread = client_accuracy.summarize(
      [client_accuracy.ClientAccuracy('5', 3, 4)]
    )
    self.assertEqual(spread[:4], (1, 0.75, 0.0, 0.75))

  def test_figure_has_all_clients_from_the_worst(self):
    clients = [
      client_accuracy.ClientAccuracy(*each)
      for each in (('0', 3, 4), ('1', 1, 8), ('4', 2, 2))
    ]
    [axes] = figures.create_client_accuracies(clients, title='mine').axes
    [points] = axes.collections
    np.testing.assert_allclose(
      points.get_offsets(), [[1, 1 / 8], [2, 3 / 4], [3, 1]]
    )
    self.assertEqual(
      [text.get_text() for text in axes.texts],
      ['mean 62.5%', 'worst tenth 12.5%'],
    )


if __name__ == '__main__':
  absltest.main()
