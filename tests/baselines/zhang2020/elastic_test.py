# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of EASGD and OverlapSGD: types, and whole rounds in NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests import linear_reference
from tests import local_steps_reference
from tests import simulation_test_case
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem

# One client is absent from the second round.
_COHORTS = ([0, 1, 2], [2, 0], [1, 2, 0])
_NO_IMAGES = linear_reference.labeled_dataset(
  linear_reference.create_images(0), np.array([], np.int32)
)


def _move_easgd(anchor, trained, velocity):
  """Moves the anchor of EASGD; the moving rate is 0.9 / 3."""
  pulls = [np.sum(x - z, axis=0) for x, z in zip(trained, anchor, strict=True)]
  anchor = [z + 0.3 * p for z, p in zip(anchor, pulls, strict=True)]
  return anchor, velocity


def _move_overlap(anchor, trained, velocity):
  """Moves the anchor as the authors do, from the models after the pull."""
  pulled = [0.4 * x + 0.6 * z for x, z in zip(trained, anchor, strict=True)]
  velocity = [
    0.7 * v + p.mean(axis=0) - z
    for v, p, z in zip(velocity, pulled, anchor, strict=True)
  ]
  return [z + v for z, v in zip(anchor, velocity, strict=True)], velocity


class ElasticTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(
    ('easgd', 0.3, _move_easgd), ('overlap_sgd', 0.6, _move_overlap)
  )
  def test_rounds_equal_numpy(self, system, pull, move):
    problem = linear_problem.LinearProblem()
    process = zhang2020_reference.build(system)
    state = process.initialize()._replace(round_num=1)
    memories = [process.initialize_memory() for _ in problem.clients]
    anchor = [
      np.asarray(w, np.float64) for w in state.global_model_weights.trainable
    ]
    zeros = [np.zeros_like(w) for w in anchor]
    own, momenta = [anchor] * 3, [zeros] * 3
    velocity = zeros
    for round_num, cohort in enumerate(_COHORTS, 1):
      output = process.next(
        state,
        _NO_IMAGES,
        problem.labeled_client_data(cohort),
        [memories[client_id] for client_id in cohort],
      )
      state = output.state
      for client_id, memory in zip(cohort, output.memories, strict=True):
        memories[client_id] = memory
        result = local_steps_reference.train_node(
          own[client_id],
          momenta[client_id],
          problem.clients[client_id][1],
          labels=linear_problem.true_labels(client_id),
          node=client_id,
          seed=zhang2020_reference.SEED,
          round_num=round_num,
          num_steps=zhang2020_reference.NUM_STEPS,
          batch_size=zhang2020_reference.BATCH_SIZE,
          learning_rates=zhang2020_reference.learning_rates(round_num),
          weak=linear_reference.shifted,
        )
        own[client_id], momenta[client_id] = result.weights, result.accumulator
      received = anchor
      anchor, velocity = move(
        anchor,
        [np.stack(w) for w in zip(*(own[c] for c in cohort), strict=True)],
        velocity,
      )
      for client_id in cohort:
        own[client_id] = [
          (1 - pull) * x + pull * z
          for x, z in zip(own[client_id], received, strict=True)
        ]
      zhang2020_reference.assert_close(
        state.global_model_weights.trainable, anchor
      )
      for memory, weights, momentum in zip(memories, own, momenta, strict=True):
        zhang2020_reference.assert_close(memory.trainable, weights)
        zhang2020_reference.assert_close(
          memory.optimizer_state['accumulator'], momentum
        )
    # Clients differ from the anchor.
    self.assertGreater(np.abs(own[0][0] - anchor[0]).max(), 0.01)

  @pytest.mark.slow
  def test_client_without_image_pulls_nothing_and_is_not_pulled(self):
    problem = linear_problem.LinearProblem()
    process = zhang2020_reference.build('easgd')
    state = process.initialize()._replace(round_num=1)
    memory = process.initialize_memory()
    memory = memory._replace(trainable=tuple(w + 1 for w in memory.trainable))
    [data] = problem.labeled_client_data([0])
    nothing = data.map(
      lambda chunk: {
        **chunk,
        'image': chunk['image'][:0],
        'label': chunk['label'][:0],
      }
    )
    output = process.next(state, _NO_IMAGES, [nothing], [memory])
    for found, expected in (
      (
        output.state.global_model_weights.trainable,
        state.global_model_weights.trainable,
      ),
      (output.memories[0].trainable, memory.trainable),
    ):
      for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


if __name__ == '__main__':
  absltest.main()
