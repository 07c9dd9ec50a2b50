# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of processes whose clients keep their momentum (D5)."""

import dataclasses
import functools

from absl.testing import absltest
import numpy as np

from tests import fix_mix_reference
from tests import linear_reference
from tests.algorithms import linear_problem
from tff_semifl import runtime
from tff_semifl.algorithms import semifl
from tff_semifl.algorithms import stateful_process

_COHORTS = ([], [2, 0], [1, 2])


@functools.cache
def _build():
  return semifl.build_semifl(
    linear_reference.create_classifier(),
    dataclasses.replace(
      linear_problem.HYPERPARAMETERS, keep_client_momentum=True
    ),
    weak_augmentation=linear_reference.unchanged,
    strong_augmentation=linear_reference.unchanged,
  )


def _run(process, problem):
  """Runs rounds 0 to 2; yields the round, its cohort and the output."""
  state = process.initialize()
  client_states = {
    client_id: process.initialize_client_state()
    for client_id, _ in problem.clients
  }
  for round_num, cohort in enumerate(_COHORTS):
    output = process.next(
      state,
      problem.server_data,
      problem.client_data(cohort),
      [client_states[client_id] for client_id in cohort],
    )
    state = output.state
    client_states.update(zip(cohort, output.client_states, strict=True))
    yield round_num, cohort, output


class StatefulProcessTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(runtime.simulation_context())

  def test_types(self):
    process = _build()
    self.assertIsInstance(process, stateful_process.StatefulProcess)
    client_state = (
      '<learning_rate=float32,accumulator=<float32[4,3],float32[3]>>'
    )
    signature = process.next.type_signature.compact_representation()
    self.assertIn(
      'client_data={<client_id=int32,image=uint8[?,2,2,1]>*}@CLIENTS,'
      f'client_states={{{client_state}}}@CLIENTS> ->',
      signature,
    )
    self.assertEndsWith(
      signature, f'@SERVER,client_states={{{client_state}}}@CLIENTS>)'
    )

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
          # Client 2 works twice, and goes on with what it had.
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

  def test_both_runtimes_give_the_same_numbers(self):
    problem = linear_problem.LinearProblem()
    results = []
    for kind in ('in_process', 'native'):
      with runtime.simulation_context(kind):
        *_, (_, _, output) = _run(_build(), problem)
      results.append(output)
    for in_process, native in zip(
      results[0].client_states, results[1].client_states, strict=True
    ):
      for a, b in zip(
        in_process['accumulator'], native['accumulator'], strict=True
      ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


if __name__ == '__main__':
  absltest.main()
