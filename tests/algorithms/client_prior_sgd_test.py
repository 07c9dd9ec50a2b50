# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of federated SGD with client priors, against rounds in NumPy."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.algorithms.client_priors import numpy_reference
from tests.core import linear_problem
from tff_semifl.randomness import random_seeds

# Some images have a higher confidence, some a lower.
_THRESHOLD = 0.6
_COHORTS = ([], [2, 0], [1, 2], [], [0, 1], [0], [0, 2], [1, 0])
# 2, 2 and 1 of the five labels.
_SHARES = np.array([2, 2, 1]) / 5


def _build(**changes):
  return linear_problem.build(
    'client_prior_sgd',
    {
      'confidence_threshold': _THRESHOLD,
      'server_pretraining_epochs': 2.0,
      **changes,
    },
  )


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


def _select(num_images, size, client, purpose, *keys):
  """The batch of a client: each image once an epoch."""
  epoch, batch = divmod(client, -(-num_images // size))
  order = tf.random.experimental.stateless_shuffle(
    tf.range(num_images),
    random_seeds.stateless_seed(linear_problem.SEED, purpose, *keys, epoch),
  ).numpy()
  return order[batch * size : (batch + 1) * size]


class _Priors:
  """What the server knows of clients' classes, in NumPy."""

  def __init__(self):
    self.strength, self.bias = 3.0, np.zeros(3)

  def label(self, logits):
    """Labels of a client's images, and its log shares."""
    posteriors, log_shares, _ = numpy_reference.client_shares(
      logits - np.log(_SHARES) + self.bias, self.strength * _SHARES
    )
    return posteriors, log_shares

  def learn(self, labeled):
    """Learns from what `label` returned to each client."""
    posteriors = np.concatenate([each for each, _ in labeled]).mean(axis=0)
    log_shares = np.mean([each for _, each in labeled], axis=0)
    self.strength = numpy_reference.find_strength(log_shares, posteriors)
    self.bias = 0.9 * self.bias + 0.5 * np.log(_SHARES / posteriors)


class ClientPriorSGDTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(6, 1)
  def test_rounds_equal_numpy(self, labeled_images):
    """With class shares of all images of a client, and of its batch alone."""
    problem = linear_problem.LinearProblem()
    process = _build(client_labeled_images=labeled_images)
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    priors = _Priors()
    purpose = random_seeds.Purpose
    num_updates = collections.Counter()
    num_labeled = num_confident = 0
    for round_num, cohort in enumerate(_COHORTS):
      output = process.next(
        state, problem.server_data, _client_data(problem, cohort, num_updates)
      )
      state = output.state
      if round_num == 0:
        problem.train_server(sgd, round_num)
        continue
      sgd.learning_rate = linear_problem.learning_rate(round_num)
      batch = _select(5, 2, round_num, purpose.SERVER_ORDER)
      terms = [(1.0, problem.images[batch], problem.labels[batch])]
      labeled = []
      for client_id in cohort:
        images = problem.clients[client_id][1]
        batch = _select(
          len(images), 3, num_updates[client_id], purpose.FIX_ORDER, client_id
        )
        num_updates[client_id] += 1
        of_batch = slice(None)
        if labeled_images > 1:
          # The client labels all images; the batch is a part of these.
          batch, of_batch = np.arange(len(images)), batch
        labeled.append(
          priors.label(linear_reference.logits(sgd.weights, images[batch]))
        )
        images, posteriors = images[batch][of_batch], labeled[-1][0][of_batch]
        keep = posteriors.max(axis=1) >= _THRESHOLD
        num_labeled += keep.size
        num_confident += keep.sum()
        if keep.any():
          # A mean over those kept, times their share of the batch.
          terms.append(
            (
              keep.mean() / len(cohort),
              images[keep],
              posteriors.argmax(axis=1)[keep],
            )
          )
      if cohort:
        np.testing.assert_allclose(
          output.metrics['client']['strength'], priors.strength, rtol=1e-3
        )
        priors.learn(labeled)
      sgd.step(*terms)
      for found, expected in zip(
        state.global_model_weights.trainable, sgd.weights, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    self.assertBetween(num_confident, 1, num_labeled - 1)

  def test_a_client_that_is_rejected_tells_nothing_of_its_classes(self):
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()._replace(round_num=1)
    broken = tf.nest.map_structure(
      lambda array: np.full_like(array, np.nan),
      state.global_model_weights.trainable,
    )
    state = state._replace(
      global_model_weights=state.global_model_weights._replace(trainable=broken)
    )
    output = process.next(
      state, problem.server_data, _client_data(problem, [0, 1], {0: 0, 1: 0})
    )
    self.assertEqual(output.metrics['client']['num_rejected'], 2)
    self.assertEqual(output.state.guidance['method'].pull, 0)


if __name__ == '__main__':
  absltest.main()
