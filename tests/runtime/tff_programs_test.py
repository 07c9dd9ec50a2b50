# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's own training program runs on the in-process context."""

import asyncio
import csv
import pathlib

import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import linear_regression
from tff_semifl import runtime

_SIZES = (3, 2, 5)


class _Iterator(tff.program.FederatedDataSourceIterator):
  """Selects data by the round; TFF's iterators select at random."""

  def __init__(self, round_number: int):
    self._round_number = round_number

  @classmethod
  def from_bytes(cls, buffer):
    return cls(int(buffer))

  def to_bytes(self):
    return str(self._round_number).encode()

  @property
  def federated_type(self):
    return _FEDERATED_TYPE

  def select(self, k=None):
    self._round_number += 1
    return _select(self._round_number)[:k]


class _Source(tff.program.FederatedDataSource):
  def __init__(self, round_number: int = 0):
    self._round_number = round_number

  @property
  def federated_type(self):
    return _FEDERATED_TYPE

  def iterator(self):
    return _Iterator(self._round_number)


def _select(round_number):
  return linear_regression.create_client_datasets(_SIZES, round_number)


_FEDERATED_TYPE = tff.FederatedType(
  tff.SequenceType(tff.types.tensorflow_to_type(linear_regression.INPUT_SPEC)),
  tff.CLIENTS,
)


class TffProgramsTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    former = tff.framework.get_context_stack().current
    cls.addClassCleanup(tff.framework.set_default_context, former)
    cls._context = runtime.InProcessContext()
    cls.addClassCleanup(cls._context.close)
    cls._process = tff.learning.algorithms.build_weighted_fed_avg(
      linear_regression.create_functional_model(),
      tff.learning.optimizers.build_sgdm(0.02),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    # The result of a hand-written loop.
    tff.framework.set_default_context(cls._context)
    cls._states = [cls._process.initialize()]
    cls._metrics = []
    for round_number in range(1, 3):
      output = cls._process.next(cls._states[-1], _select(round_number))
      cls._states.append(output.state)
      cls._metrics.append(output.metrics['client_work']['train'])

  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir())
    tff.framework.set_default_context(self._context)

  def _run_program(self, num_rounds):
    tff.framework.set_default_context(
      tff.program.NativeFederatedContext(runtime.AsyncContext(self._context))
    )
    model = tff.program.MemoryReleaseManager()
    asyncio.run(
      tff.learning.programs.train_model(
        train_process=self._process,
        train_data_source=_Source(),
        train_per_round_clients=len(_SIZES),
        train_total_rounds=num_rounds,
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

  def _assert_weights(self, state, expected_state):
    tf.nest.map_structure(
      self.assertAllEqual,
      state.global_model_weights,
      expected_state.global_model_weights,
    )

  def test_training_is_that_of_a_loop_of_calls(self):
    state = self._run_program(2)

    self._assert_weights(state, self._states[2])
    with (self._root / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    self.assertEqual([row['round'] for row in rows], ['1', '2'])
    self.assertAllClose(
      [float(row['model_metrics/mean_squared_error']) for row in rows],
      [metrics['mean_squared_error'] for metrics in self._metrics],
    )


if __name__ == '__main__':
  tf.test.main()
