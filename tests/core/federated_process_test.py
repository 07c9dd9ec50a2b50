# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the inputs and outputs of processes, and of the seeds of nodes."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import fix_mix_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl import runtime
from tff_semifl.core import federated_process
from tff_semifl.core import learning_process
from tff_semifl.experiment import runtimes
from tff_semifl.randomness import random_seeds

_COHORTS = ([], [2, 0], [1, 2])


class MemoriesTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = linear_problem.build('semifl', {'keep_client_momentum': True})

  def test_memories_are_an_argument_and_a_result(self):
    memory = '<learning_rate=float32,accumulator=<float32[4,3],float32[3]>>'
    signature = self.process.next.type_signature.compact_representation()
    self.assertIn(
      'client_data={<client_id=int32,image=uint8[?,2,2,1]>*}@CLIENTS,'
      f'memories={{{memory}}}@CLIENTS> ->',
      signature,
    )
    self.assertEndsWith(
      signature, f'@SERVER,memories={{{memory}}}@CLIENTS,given_labels=<>>)'
    )
    with self.assertRaisesRegex(TypeError, 'keep_client_momentum=False'):
      learning_process.bind_server_data(
        self.process, tff.tensorflow.computation(lambda: 0.0)
      )

  def test_rounds_equal_numpy(self):
    problem = linear_problem.LinearProblem()
    accumulators = {}
    for round_num, cohort, federation, _ in linear_problem.follow(
      self.process, _COHORTS
    ):
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
    self.assertGreater(np.abs(accumulators[2][0]).max(), 0)

  def test_native_runtime_gives_the_same_numbers(self):
    problem = linear_problem.LinearProblem()
    results = []
    for context in (runtime.simulation_context, runtimes.native_context):
      with context():
        state = self.process.initialize()
        for cohort in ([], [1, 2]):
          output = self.process.next(
            state,
            problem.server_data,
            problem.client_data(cohort),
            [self.process.initialize_memory()] * len(cohort),
          )
          results.append(output)
          state = output.state
    for ours, theirs in zip(results[:2], results[2:], strict=True):
      tf.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
        *(ours, theirs),
      )


_CONTEXT = federated_process.RoundContext(7, 4, 0.1)
_VIEW = random_seeds.Purpose.WEAK_VIEW


class NodeTest(tf.test.TestCase):
  def test_keys_of_clients_and_of_the_server(self):
    node, seed = federated_process.Node, random_seeds.stateless_seed
    self.assertAllEqual(
      node(_CONTEXT, 3).seed(_VIEW, 5, 6), seed(7, _VIEW, 4, 3, 5, 6)
    )
    self.assertAllEqual(node(_CONTEXT).seed(_VIEW, 5), seed(7, _VIEW, 4, 5))
    self.assertNotAllEqual(
      node(_CONTEXT, 0).seed(_VIEW), node(_CONTEXT).seed(_VIEW)
    )


if __name__ == '__main__':
  absltest.main()
