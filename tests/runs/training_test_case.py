# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of the tests of the training program."""

import asyncio
import csv
import pathlib

from tests import simulation_test_case
from tests.runs import linear_program
from tff_semifl.runs import best_models
from tff_semifl.runs import checkpoints
from tff_semifl.runs import metrics_file
from tff_semifl.runs import training

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


class TrainingTestCase(simulation_test_case.SimulationTestCase):
  """Trains a linear model, and reads its metrics."""

  def train(self, folder, total_rounds, on_round=lambda *_: None, program=None):
    program = program or linear_program.create_program(total_rounds)
    return asyncio.run(
      training.train(
        program,
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=metrics_file.MetricsFile(
          pathlib.Path(folder, 'metrics.csv')
        ),
        memories=linear_program.create_memories(program, folder, num_kept=3),
        best_models=program.model_choice
        and best_models.BestModels(pathlib.Path(folder, 'best'), num_kept=4),
        on_start=lambda _: None,
        on_round=on_round,
      )
    )

  def read_metrics(self, folder):
    with pathlib.Path(folder, 'metrics.csv').open() as file:
      return list(csv.DictReader(file))
