# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base class of tests of training."""

import asyncio
import csv
import pathlib

import numpy as np
import tensorflow as tf

from tests import simulation_test_case
from tests.experiment import linear_program
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import training

COLUMNS = [
  'round',
  'test/accuracy',
  'test/loss',
  'test/best_accuracy',
  'server/loss',
  'server/accuracy',
  'client/loss',
  'client/accuracy',
  'client/label_ratio',
  'client/pseudo_accuracy',
  'client/threshold_accuracy',
  'client/micro_threshold_accuracy',
  'client/num_participating',
  'client/num_rejected',
  'client/num_dropped',
  'client/weight_diversity',
  'client/relative_weight_diversity',
  'client/own/highest_confidence',
  'learning_rate',
  'seconds',
]


def train(folder, program, on_round=lambda *_: None, on_start=lambda _: None):
  """Trains, or resumes the run of a folder; returns the last state."""
  folder = pathlib.Path(folder)
  return asyncio.run(
    training.train(
      program,
      checkpoints=checkpoints.Checkpoints(folder / 'checkpoints', num_kept=3),
      metrics_manager=experiment_folder.MetricsFile(folder / 'metrics.csv'),
      memories=linear_program.create_memories(program, folder, num_kept=3),
      on_start=on_start,
      on_round=on_round,
    )
  )


class TrainingTestCase(simulation_test_case.SimulationTestCase):
  """Trains a linear model, and reads its metrics."""

  def train(self, folder, total_rounds, on_round=lambda *_: None, program=None):
    program = program or linear_program.create_program(total_rounds)
    return train(folder, program, on_round)

  def read_metrics(self, folder):
    with pathlib.Path(folder, 'metrics.csv').open() as file:
      return list(csv.DictReader(file))

  def read_numbers(self, folder):
    """The metrics without times."""
    return [row | {'seconds': None} for row in self.read_metrics(folder)]

  def assert_same(self, found, expected):
    for a, b in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      np.testing.assert_array_equal(a, b)
