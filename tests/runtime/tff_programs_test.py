# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TFF's training program runs on the in-process runtime."""

import asyncio
import csv
import pathlib

import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import linear_regression
from tff_semifl import runtime

_NUM_ROUNDS = 2
_DATASETS = linear_regression.create_client_datasets((3, 2, 5), 1)


class _AllClients(
  tff.program.FederatedDataSource, tff.program.FederatedDataSourceIterator
):
  """Selects all clients in order; TFF's iterators select at random."""

  federated_type = tff.FederatedType(
    tff.SequenceType(
      tff.types.tensorflow_to_type(linear_regression.INPUT_SPEC)
    ),
    tff.CLIENTS,
  )

  @classmethod
  def from_bytes(cls, buffer):
    return cls()

  def to_bytes(self):
    return b''

  def iterator(self):
    return self

  def select(self, k=None):
    return _DATASETS[:k]


class TffProgramsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir())
    self._context = runtime.InProcessContext()
    self.addCleanup(self._context.close)
    former = tff.framework.get_context_stack().current
    self.addCleanup(tff.framework.set_default_context, former)

  def _run_program(self, process):
    """Runs a program; returns its last state."""
    tff.framework.set_default_context(
      tff.program.NativeFederatedContext(runtime.AsyncContext(self._context))
    )
    model = tff.program.MemoryReleaseManager()
    asyncio.run(
      tff.learning.programs.train_model(
        train_process=process,
        train_data_source=_AllClients(),
        train_per_round_clients=len(_DATASETS),
        train_total_rounds=_NUM_ROUNDS,
        program_state_manager=tff.program.FileProgramStateManager(
          self._root / 'states'
        ),
        model_output_manager=model,
        train_metrics_manager=tff.program.CSVFileReleaseManager(
          self._root / 'metrics.csv', key_fieldname='round'
        ),
        evaluation_manager=None,
        evaluation_periodicity=2,
      )
    )
    [state] = model.values().values()
    return state

  def test_training_is_that_of_a_loop_of_calls(self):
    process = tff.learning.algorithms.build_weighted_fed_avg(
      linear_regression.create_functional_model(),
      tff.learning.optimizers.build_sgdm(0.02),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    tff.framework.set_default_context(self._context)
    expected, errors = process.initialize(), []
    for _ in range(_NUM_ROUNDS):
      output = process.next(expected, _DATASETS)
      expected = output.state
      errors.append(output.metrics['client_work']['train'])

    state = self._run_program(process)

    tf.nest.map_structure(
      self.assertAllEqual,
      state.global_model_weights,
      expected.global_model_weights,
    )
    with (self._root / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    self.assertEqual([row['round'] for row in rows], ['1', '2'])
    self.assertAllClose(
      [float(row['model_metrics/mean_squared_error']) for row in rows],
      [metrics['mean_squared_error'] for metrics in errors],
    )


if __name__ == '__main__':
  tf.test.main()
