# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rounds whose results are not finite."""

import dataclasses
import itertools
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import simulation_test_case
from tests.experiment import linear_program
from tests.experiment import saved_run
from tests.experiment import training_test_case
from tff_semifl.experiment import training


def _fill(structure, value):
  return tf.nest.map_structure(lambda a: np.full_like(a, value), structure)


def _spoil_weights(output):
  weights = _fill(output.state.global_model_weights, np.nan)
  return output._replace(
    state=output.state._replace(global_model_weights=weights)
  )


def _spoil_momentum(output):
  momentum = _fill(output.state.finalizer, np.inf)
  return output._replace(state=output.state._replace(finalizer=momentum))


def _spoil_loss(output):
  server = {'loss': np.float32(np.nan), 'accuracy': np.float32(0)}
  return output._replace(metrics={**output.metrics, 'server': server})


def _with_fault(program, spoil, fault):
  """An experiment whose process fails in a given call."""
  process = program.process
  calls = itertools.count()

  def run(*arguments):
    output = process.next(*arguments)
    return spoil(output) if next(calls) == fault else output

  faulty = mock.Mock(
    spec=process,
    wraps=process,
    preparations=(),
    next=run,
    initialize_memory=process.initialize_memory,
  )
  return dataclasses.replace(program, process=faulty)


class FaultsTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.right, self.wrong = folder / 'right', folder / 'wrong'
    for path in (self.right, self.wrong):
      path.mkdir()

  @parameterized.named_parameters(
    ('weights', _spoil_weights),
    ('momentum', _spoil_momentum),
    ('loss', _spoil_loss),
  )
  def test_round_that_fails_ends_the_run_and_is_not_saved(self, spoil):
    program = linear_program.create_program(4, keep_client_momentum=True)
    with self.assertRaisesRegex(
      training.TrainingDivergedError, 'after round 2'
    ):
      training_test_case.train(self.wrong, _with_fault(program, spoil, 2))
    self.assertLen(saved_run.read(self.wrong).rows, 2)
    training_test_case.train(self.wrong, program)
    training_test_case.train(self.right, program)
    self.assertEqual(saved_run.read(self.wrong), saved_run.read(self.right))


if __name__ == '__main__':
  absltest.main()
