# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the labels that clients gave in many short steps (A.14)."""

from absl.testing import absltest
import numpy as np

from tests import given_labels_reference
from tests import linear_reference
from tests import local_steps_reference
from tests import simulation_test_case
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem

_COHORT = [2, 0]


class GivenLabelsTest(simulation_test_case.SimulationTestCase):
  def test_a_label_is_by_the_model_of_its_step(self):
    problem = linear_problem.LinearProblem()
    process = zhang2020_reference.build(
      'consistency_averaging', returns_given_labels=True
    )
    state = process.initialize()
    output = process.next(
      state._replace(round_num=np.int32(1)),
      problem.server_data,
      problem.client_data(_COHORT),
      [
        process.initialize_memory()._replace(slot=np.int32(slot))
        for slot in range(2)
      ],
    )
    weights = state.global_model_weights.trainable
    for given, client_id in zip(output.given_labels, _COHORT, strict=True):
      expected = local_steps_reference.train_node(
        weights,
        [np.zeros_like(array) for array in weights],
        problem.clients[client_id][1],
        threshold=zhang2020_reference.THRESHOLD,
        weak=linear_reference.shifted,
        strong=linear_reference.inverted,
        seed=zhang2020_reference.SEED,
        round_num=1,
        node=client_id,
        num_steps=zhang2020_reference.NUM_STEPS,
        batch_size=zhang2020_reference.BATCH_SIZE,
        learning_rates=zhang2020_reference.learning_rates(1),
      )
      given_labels_reference.assert_given(given, expected.labeled)
    # The label ratio is of these labels.
    share = np.concatenate([given.share for given in output.given_labels])
    np.testing.assert_allclose(
      np.mean(share > 0), output.metrics['client']['label_ratio'], rtol=1e-6
    )


if __name__ == '__main__':
  absltest.main()
