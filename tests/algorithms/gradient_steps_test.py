# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of federated SGD, in which a round is one step, against NumPy.

The batch of a step consists of two images of the server and three of each
client. Clients skip rounds, and have two batches per epoch: at the end, client
0 is in its third epoch.
"""

import collections

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import gradient_steps
from tff_semifl.randomness import random_seeds

_COHORTS = ([], [2, 0], [1, 2], [], [0, 1], [0], [0, 2], [1, 0])


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


def _select(num_images, size, update, purpose, *keys):
  """The batch of an update; each image is used once per epoch."""
  epoch, batch = divmod(update, -(-num_images // size))
  order = linear_reference.order(
    num_images, linear_problem.SEED, purpose, *keys, epoch
  )
  return order[batch * size : (batch + 1) * size]


class GradientStepsTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    """Some images have a confidence above the threshold, others below."""
    threshold = 0.45
    problem, purpose = linear_problem.LinearProblem(), random_seeds.Purpose
    process = linear_problem.build(
      'fedsgd_fixmatch',
      {'confidence_threshold': threshold},
      returns_given_labels=True,
    )
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    federation = linear_problem.Federation(sgd)
    num_updates = collections.Counter()
    num_labeled = num_confident = 0
    for round_num, cohort in enumerate(_COHORTS):
      output = process.next(
        state, problem.server_data, _client_data(problem, cohort, num_updates)
      )
      state = output.state
      sgd.learning_rate = linear_problem.learning_rate(round_num)
      batch = _select(5, 2, round_num, purpose.SERVER_ORDER)
      terms = [(1.0, problem.images[batch], problem.labels[batch])]
      for given, client_id in zip(output.given_labels, cohort, strict=True):
        images = problem.clients[client_id][1]
        batch = _select(
          len(images), 3, num_updates[client_id], purpose.FIX_ORDER, client_id
        )
        num_updates[client_id] += 1
        np.testing.assert_array_equal(given.image, batch)
        images = images[batch]
        posteriors = linear_reference.softmax(
          linear_reference.logits(sgd.weights, images)
        )
        keep = posteriors.max(axis=1) >= threshold
        np.testing.assert_array_equal(given.label, posteriors.argmax(axis=1))
        np.testing.assert_array_equal(given.share > 0, keep)
        num_labeled += keep.size
        num_confident += keep.sum()
        if keep.any():
          # The mean over selected images, times their fraction of the batch.
          factor = keep.mean() / len(cohort)
          classes = posteriors.argmax(axis=1)[keep]
          terms.append((factor, images[keep], classes))
      sgd.step(*terms)
      federation.assert_equal(state)
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
    self.assertBetween(num_confident, 1, num_labeled - 1)
    self.assertGreater(num_updates[0], 4)

  def test_batch_is_extended_by_other_images(self):
    seed = tf.constant([1, 2])
    for size, expected in ((1, 2), (4, 4), (9, 6)):
      batch = gradient_steps.extend_batch(tf.constant([3, 1]), 6, size, seed)
      self.assertEqual(batch[:2].numpy().tolist(), [3, 1])
      self.assertLen(set(batch.numpy()), expected)
      self.assertLen(batch, expected)
      self.assertLess(max(batch.numpy()), 6)


if __name__ == '__main__':
  absltest.main()
