# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the shape of processes, and of the seeds of nodes."""

import functools

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl import runtime
from tff_semifl.algorithms import learning_process
from tff_semifl.core import federated_process
from tff_semifl.randomness import random_seeds

_COHORTS = ([], [2, 0], [1, 2])


@functools.cache
def _build(*, keep_client_momentum=True):
  return linear_problem.build(
    'semifl', {'keep_client_momentum': keep_client_momentum}
  )


def _run(process, problem):
  """Runs rounds 0 to 2; yields the round, its cohort and the output."""
  state = process.initialize()
  memories = {
    client_id: process.initialize_memory() for client_id, _ in problem.clients
  }
  for round_num, cohort in enumerate(_COHORTS):
    output = process.next(
      state,
      problem.server_data,
      problem.client_data(cohort),
      [memories[client_id] for client_id in cohort],
    )
    state = output.state
    memories.update(zip(cohort, output.memories, strict=True))
    yield round_num, cohort, output


class ComputationTest(absltest.TestCase):
  def test_memories_are_an_argument_and_a_result(self):
    process = _build()
    self.assertIsInstance(process, federated_process.FederatedProcess)
    memory = '<learning_rate=float32,accumulator=<float32[4,3],float32[3]>>'
    signature = process.next.type_signature.compact_representation()
    self.assertEqual(
      process.initialize_memory.type_signature.compact_representation(),
      f'( -> {memory})',
    )
    self.assertIn(
      'client_data={<client_id=int32,image=uint8[?,2,2,1]>*}@CLIENTS,'
      f'memories={{{memory}}}@CLIENTS> ->',
      signature,
    )
    self.assertEndsWith(
      signature, f'@SERVER,memories={{{memory}}}@CLIENTS,given_labels=<>>)'
    )

  def test_without_memories_a_round_takes_none(self):
    process = _build(keep_client_momentum=False)
    self.assertIsInstance(process, federated_process.FederatedProcess)
    self.assertIsNone(process.initialize_memory)
    signature = process.next.type_signature.compact_representation()
    self.assertIn(
      'client_data={<client_id=int32,image=uint8[?,2,2,1]>*}@CLIENTS> ->',
      signature,
    )
    self.assertEndsWith(signature, '@SERVER,memories=<>,given_labels=<>>)')

  def test_learning_process_has_no_place_for_memories(self):
    with self.assertRaisesRegex(TypeError, 'keep_client_momentum=False'):
      learning_process.bind_server_data(
        _build(), tff.tensorflow.computation(lambda: 0.0)
      )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    problem = linear_problem.LinearProblem()
    process = _build()
    federation = linear_problem.Federation(
      linear_reference.NumpySGD(
        linear_reference.create_classifier().initial_weights.trainable, 0.0
      )
    )
    accumulators = {}
    for round_num, cohort, output in _run(process, problem):
      rounds = [
        problem.train_client(
          fix_mix_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=linear_problem.THRESHOLD,
          mix_loss_weight=1.0,
          # Client 2 trains twice, the second time from its stored state.
          accumulator=accumulators.get(client_id),
        )
        for client_id in cohort
      ]
      accumulators.update(
        zip(cohort, [r.accumulator for r in rounds], strict=True)
      )
      federation.average([r.weights for r in rounds if r.num_confident])
      problem.train_server(federation.sgd, round_num)
      federation.assert_equal(output.state)
    self.assertGreater(np.abs(accumulators[2][0]).max(), 0)

  @pytest.mark.slow
  def test_both_runtimes_give_the_same_numbers(self):
    problem = linear_problem.LinearProblem()
    results = []
    for kind in ('in_process', 'native'):
      with runtime.simulation_context(kind):
        *_, (_, _, output) = _run(_build(), problem)
      results.append(output)
    for in_process, native in zip(
      results[0].memories, results[1].memories, strict=True
    ):
      for a, b in zip(
        in_process['accumulator'], native['accumulator'], strict=True
      ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


_CONTEXT = federated_process.RoundContext(7, 4, 0.1)
_VIEW = random_seeds.Purpose.WEAK_VIEW


class NodeTest(tf.test.TestCase):
  def test_a_client_has_its_number_between_round_and_epoch(self):
    self.assertAllEqual(
      federated_process.Node(_CONTEXT, 3).seed(_VIEW, 5, 6),
      random_seeds.stateless_seed(7, _VIEW, 4, 3, 5, 6),
    )

  def test_the_one_server_has_no_number(self):
    self.assertAllEqual(
      federated_process.Node(_CONTEXT).seed(_VIEW, 5),
      random_seeds.stateless_seed(7, _VIEW, 4, 5),
    )

  def test_client_0_is_not_the_server(self):
    self.assertNotAllEqual(
      federated_process.Node(_CONTEXT, 0).seed(_VIEW),
      federated_process.Node(_CONTEXT).seed(_VIEW),
    )


if __name__ == '__main__':
  absltest.main()
