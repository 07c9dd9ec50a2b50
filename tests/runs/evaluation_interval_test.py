# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training that is evaluated every few rounds."""

import asyncio
import csv
import dataclasses
import pathlib

from absl.testing import absltest
import numpy as np

from tests import simulation_test_case
from tests.runs import linear_program
from tff_semifl.runs import checkpoints
from tff_semifl.runs import metrics_file
from tff_semifl.runs import training


class EvaluationIntervalTest(simulation_test_case.SimulationTestCase):
  def _train(self, folder, interval, on_round=lambda *_: None):
    final = asyncio.run(
      training.train(
        dataclasses.replace(
          linear_program.create_program(total_rounds=5),
          rounds_per_evaluation=interval,
        ),
        checkpoints=checkpoints.Checkpoints(folder / 'states', num_kept=3),
        metrics_manager=metrics_file.MetricsFile(folder / 'metrics.csv'),
        on_start=lambda _: None,
        on_round=on_round,
      )
    )
    with (folder / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    for row in rows:
      del row['seconds']
    return final, rows

  def test_rows_are_those_of_every_second_round_and_of_the_last(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'each').mkdir()
    (folder / 'second').mkdir()
    each, all_rows = self._train(folder / 'each', 1)
    second, rows = self._train(folder / 'second', 2)
    self.assertEqual([row['round'] for row in rows], ['0', '2', '4', '5'])
    # The best accuracy is that of the rounds that were looked at.
    for row in (*all_rows, *rows):
      del row['test/best_accuracy']
    self.assertEqual(rows, [all_rows[number] for number in (0, 2, 4, 5)])
    for found, expected in zip(
      second.state.global_model_weights.trainable,
      each.state.global_model_weights.trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)

  def test_an_interrupted_run_repeats_the_rounds_since(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'through').mkdir()
    (folder / 'interrupted').mkdir()
    _, expected = self._train(folder / 'through', 3)

    def interrupt(round_num, metrics):
      del metrics  # Unused.
      if round_num == 3:
        raise KeyboardInterrupt

    with self.assertRaises(KeyboardInterrupt):
      self._train(folder / 'interrupted', 3, interrupt)
    _, rows = self._train(folder / 'interrupted', 3)
    self.assertEqual(rows, expected)


if __name__ == '__main__':
  absltest.main()
