# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of federated SGD with FixMatch against steps in NumPy (D.4)."""

import collections
import functools

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.randomness import random_seeds

# Some images have a higher confidence, some a lower.
_THRESHOLD = 0.36


@functools.cache
def _build(system_name='fedsgd_fixmatch', threshold=_THRESHOLD):
  return linear_problem.build(system_name, {'confidence_threshold': threshold})


def _client_data(problem, cohort, num_updates):
  return [
    dataset.map(
      lambda chunk, client=client: collections.OrderedDict(
        client_id=chunk['client_id'],
        earlier_rounds=np.int32(num_updates[client]),
        image=chunk['image'],
      )
    )
    for client, dataset in zip(cohort, problem.client_data(cohort), strict=True)
  ]


def _select(images, size, update, purpose, *keys):
  """The batch of a update: each image once an epoch."""
  num_batches = -(-len(images) // size)
  epoch, batch = divmod(update, num_batches)
  order = linear_reference.order(
    len(images), linear_problem.SEED, purpose, *keys, epoch
  )
  return order[batch * size : (batch + 1) * size]


class FedSGDFixMatchTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    """One step a round, on the union of the batches of server and clients.

    Clients skip rounds, and have two batches an epoch: client 0 is in its third
    epoch in the end.
    """
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    purpose = random_seeds.Purpose
    num_confident = 0
    num_updates = collections.Counter()
    for round_num, cohort in enumerate(
      ([], [2, 0], [1, 2], [0, 1], [0], [0, 2], [1, 0])
    ):
      output = process.next(
        state, problem.server_data, _client_data(problem, cohort, num_updates)
      )
      state = output.state
      sgd.learning_rate = linear_problem.learning_rate(round_num)
      # Batches of two at the server, of three at clients.
      batch = _select(problem.images, 2, round_num, purpose.SERVER_ORDER)
      terms = [(1.0, problem.images[batch], problem.labels[batch])]
      for client_id in cohort:
        images = problem.clients[client_id][1]
        batch = _select(
          images, 3, num_updates[client_id], purpose.FIX_ORDER, client_id
        )
        num_updates[client_id] += 1
        probabilities = linear_reference.softmax(
          linear_reference.logits(sgd.weights, images[batch])
        )
        keep = probabilities.max(axis=1) >= _THRESHOLD
        num_confident += keep.sum()
        if keep.any():
          # A mean over those kept, times their share of the batch.
          terms.append(
            (
              keep.mean() / len(cohort),
              images[batch][keep],
              probabilities.argmax(axis=1)[keep],
            )
          )
      sgd.step(*terms)
      for found, expected in zip(
        state.global_model_weights.trainable, sgd.weights, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
    self.assertGreater(num_confident, 0)
    self.assertGreater(num_updates[0], 4)

  def test_nobody_sure_is_a_step_of_the_server_alone(self):
    problem = linear_problem.LinearProblem()
    process = _build(threshold=1.0)
    state = process.initialize()._replace(round_num=1)
    results = [
      process.next(
        state, problem.server_data, _client_data(problem, cohort, {0: 3, 1: 0})
      ).state.global_model_weights.trainable
      for cohort in ([], [0, 1])
    ]
    for alone, together in zip(*results, strict=True):
      np.testing.assert_array_equal(alone, together)


if __name__ == '__main__':
  absltest.main()
