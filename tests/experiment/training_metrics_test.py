# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the metrics of the training program."""

import dataclasses
import types

from absl.testing import absltest
import numpy as np

from tests.experiment import linear_program
from tests.experiment import training_test_case
from tff_semifl.core import pseudo_labels
from tff_semifl.experiment import training


class TrainingMetricsTest(training_test_case.TrainingTestCase):
  def test_rows_columns_and_values(self):
    folder = self.create_tempdir().full_path
    seen = {}
    final = self.train(folder, 4, on_round=seen.__setitem__)
    rows = self.read_metrics(folder)
    self.assertEqual(list(rows[0]), training_test_case.COLUMNS)
    self.assertEqual([row['round'] for row in rows], list('01234'))
    self.assertEqual(
      [seen[n].test.accuracy for n in range(5)],
      [float(row['test/accuracy']) for row in rows],
    )
    self.assertEqual(rows[0]['client/num_participating'], '0.0')
    # Learning rate 0.3 for rounds 0 and 1, then a half cosine over four rounds.
    np.testing.assert_allclose(
      [float(row['learning_rate']) for row in rows],
      [0.3, *(0.15 * (1 + np.cos(np.pi * np.arange(4) / 4)))],
      rtol=1e-6,
    )
    accuracies = [float(row['test/accuracy']) for row in rows]
    self.assertEqual(final.round_num, 4)
    self.assertAlmostEqual(final.accuracy, accuracies[-1])
    self.assertAlmostEqual(final.best_accuracy, max(accuracies))
    self.assertEqual(
      [float(row['test/best_accuracy']) for row in rows],
      [max(accuracies[: n + 1]) for n in range(5)],
    )
    self.assertGreater(max(float(r['client/label_ratio']) for r in rows[1:]), 0)

  def test_cells_of_what_was_not_measured_are_empty(self):
    """Round 0 has no clients; without labels, accuracy is undefined."""
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(2, confidence_threshold=1.0)
    self.train(folder, 2, program=program)
    rows = self.read_metrics(folder)
    measured = {'num_participating', 'num_rejected', 'num_dropped'}
    for row, names in zip(
      rows,
      (
        measured,
        # Pseudo-labels exist, but none is selected for training.
        *[
          measured
          | {
            'label_ratio',
            'pseudo_accuracy',
            'threshold_accuracy',
            'own/highest_confidence',
          }
        ]
        * 2,
      ),
      strict=True,
    ):
      self.assertEqual(
        {name for name, cell in row.items() if cell == ''},
        {
          column
          for column in training_test_case.COLUMNS
          if column.startswith('client/')
          and column.removeprefix('client/') not in names
        },
      )
    self.assertEqual(rows[1]['client/label_ratio'], '0.0')
    self.assertEqual(rows[1]['client/threshold_accuracy'], '0.0')

  def test_pseudo_labels_and_own_measurements_of_clients(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(2)
    outputs = []

    def run(*arguments):
      output = program.process.next(*arguments)
      client = {**output.metrics['client'], 'doubt': np.float32(0.25)}
      metrics = {**output.metrics, 'client': client}
      outputs.append(output._replace(metrics=metrics))
      return outputs[-1]

    recorder = types.SimpleNamespace(
      initialize=program.process.initialize,
      next=run,
      initialize_memory=None,
      preparations=(),
    )
    self.train(
      folder, 2, program=dataclasses.replace(program, process=recorder)
    )
    for round_num, row in enumerate(self.read_metrics(folder)[1:], 1):
      right = [
        # Image n has class n modulo 3; clients have the images from 6 on.
        given.label == (6 * client + given.image) % 3
        for given, client in zip(
          outputs[round_num].given_labels,
          program.clients.cohort(round_num),
          strict=True,
        )
      ]
      self.assertAlmostEqual(
        float(row['client/pseudo_accuracy']),
        np.concatenate(right).mean(),
        places=6,
      )
      self.assertEqual(row['client/own/doubt'], '0.25')

  def test_dropped_clients_are_counted(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(4, dropout_probability=0.4)
    self.train(folder, 4, program=program)
    found = [row['client/num_dropped'] for row in self.read_metrics(folder)]
    sizes = [len(program.clients.cohort(n)) for n in range(5)]
    # Two clients are chosen in each round but the first.
    self.assertEqual(found, ['0.0', *(f'{2 - n:.1f}' for n in sizes[1:])])
    self.assertGreater(len(set(found[1:])), 1)


def _given(*labels):
  """The record of (image, label, share) triples."""
  image, label, share = zip(*labels, strict=True) if labels else ((), (), ())
  return pseudo_labels.GivenLabels(
    np.array(image, np.int32),
    np.array(label, np.int32),
    np.array(share, np.float32),
  )


class PseudoLabelQualityTest(absltest.TestCase):
  def test_clients_that_label_once(self):
    # Three of four images are trained on, two of them with the correct label.
    first = _given((0, 5, 4 / 3), (1, 6, 4 / 3), (2, 7, 0), (3, 1, 4 / 3))
    second = _given((0, 1, 0), (1, 1, 0))
    found = training.measure_pseudo_labels(
      [first, second], [np.array([5, 6, 7, 8]), np.array([1, 2])]
    )
    self.assertAlmostEqual(found['pseudo_accuracy'], 4 / 6, places=6)
    # (4 * 2 / 3 + 2 * 0) / 6: a mean over clients by images; 0 for the second.
    self.assertAlmostEqual(found['threshold_accuracy'], 8 / 18, places=6)
    self.assertAlmostEqual(found['micro_threshold_accuracy'], 2 / 3, places=6)

  def test_batches_of_one_client_count_by_their_size(self):
    """Metrics are computed for each batch, and weighted by batch size."""
    given = _given(
      # A batch of three: two images are trained on, one with the correct label.
      *((0, 1, 3 / 2), (1, 1, 3 / 2), (2, 1, 0)),
      # A batch of one image with the correct label, which had another label
      # before.
      *((1, 2, 1),),
      # A batch of two images, of which none is trained on.
      *((0, 1, 0), (2, 2, 0)),
    )
    found = training.measure_pseudo_labels([given], [np.array([1, 2, 3])])
    # Images 0, 1, 2 have classes 1, 2, 3: the first, fourth and fifth label are
    # right.
    self.assertAlmostEqual(found['pseudo_accuracy'], 3 / 6, places=6)
    # (3 * 1/2 + 1 * 1 + 2 * 0) / 6.
    self.assertAlmostEqual(found['threshold_accuracy'], 2.5 / 6, places=6)
    self.assertAlmostEqual(found['micro_threshold_accuracy'], 2 / 3, places=6)

  def test_nothing_is_confident(self):
    found = training.measure_pseudo_labels([_given((0, 1, 0))], [np.array([1])])
    self.assertEqual(
      (found['pseudo_accuracy'], found['threshold_accuracy']), (1, 0)
    )
    self.assertTrue(np.isnan(found['micro_threshold_accuracy']))


if __name__ == '__main__':
  absltest.main()
