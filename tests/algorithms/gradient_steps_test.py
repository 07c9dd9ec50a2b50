# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of federated SGD, in which a round is one step, against NumPy.

The batch of a step consists of two images of the server and three of each
client. Clients skip rounds, and have two batches per epoch: at the end, client
0 is in its third epoch.
"""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.algorithms.client_priors import numpy_reference
from tests.core import linear_problem
from tff_semifl.randomness import random_seeds

_COHORTS = ([], [2, 0], [1, 2], [], [0, 1], [0], [0, 2], [1, 0])
# The server's classes have 2, 2 and 1 of the five labels.
_SHARES = np.array([2, 2, 1]) / 5


@functools.cache
def _build(system_name, **changes):
  return linear_problem.build(system_name, changes, returns_given_labels=True)


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


class _ReceivedModel:
  """Labels images by the received model."""

  pretrains = False
  measured = {}

  def label(self, logits):
    return linear_reference.softmax(logits), None

  def learn(self, labeled):
    pass


class _Priors:
  """The server's estimate of clients' classes, in NumPy."""

  pretrains = True

  def __init__(self):
    self.strength, self.bias = 3.0, np.zeros(3)

  @property
  def measured(self):
    return {'strength': self.strength}

  def label(self, logits):
    """Labels a client's images, and returns the log shares too."""
    posteriors, log_shares, _ = numpy_reference.client_shares(
      logits - np.log(_SHARES) + self.bias, self.strength * _SHARES
    )
    return posteriors, log_shares

  def learn(self, labeled):
    """Updates the estimate by the results of `label` for each client."""
    posteriors = np.concatenate([each for each, _ in labeled]).mean(axis=0)
    log_shares = np.mean([each for _, each in labeled], axis=0)
    self.strength = numpy_reference.find_strength(log_shares, posteriors)
    self.bias = 0.9 * self.bias + 0.5 * np.log(_SHARES / posteriors)


class GradientStepsTest(simulation_test_case.SimulationTestCase):
  @parameterized.named_parameters(
    ('fedsgd', 'fedsgd_fixmatch', {}, _ReceivedModel, 0.45),
    # Class shares are estimated from all images of a client, or from its batch.
    (
      'priors_of_all_images',
      'client_prior_sgd',
      {'server_pretraining_epochs': 2.0, 'client_labeled_images': 6},
      _Priors,
      0.6,
    ),
    (
      'priors_of_the_batch',
      'client_prior_sgd',
      {'server_pretraining_epochs': 2.0, 'client_labeled_images': 1},
      _Priors,
      0.6,
    ),
  )
  def test_rounds_equal_numpy(self, system_name, changes, create, threshold):
    """Some images have a confidence above the threshold, others below."""
    labels_all = changes.get('client_labeled_images', 1) > 1
    problem, purpose = linear_problem.LinearProblem(), random_seeds.Purpose
    process = _build(system_name, confidence_threshold=threshold, **changes)
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    federation, labeler = linear_problem.Federation(sgd), create()
    num_updates = collections.Counter()
    num_labeled = num_confident = 0
    for round_num, cohort in enumerate(_COHORTS):
      output = process.next(
        state, problem.server_data, _client_data(problem, cohort, num_updates)
      )
      state = output.state
      if round_num == 0 and labeler.pretrains:
        problem.train_server(sgd, round_num)
        continue
      sgd.learning_rate = linear_problem.learning_rate(round_num)
      batch = _select(5, 2, round_num, purpose.SERVER_ORDER)
      terms = [(1.0, problem.images[batch], problem.labels[batch])]
      labeled = []
      for given, client_id in zip(output.given_labels, cohort, strict=True):
        images = problem.clients[client_id][1]
        batch = _select(
          len(images), 3, num_updates[client_id], purpose.FIX_ORDER, client_id
        )
        num_updates[client_id] += 1
        np.testing.assert_array_equal(given.image, batch)
        of_batch = slice(None)
        if labels_all:
          # The client labels all images, and trains on a batch of them.
          batch, of_batch = np.arange(len(images)), batch
        labeled.append(
          labeler.label(linear_reference.logits(sgd.weights, images[batch]))
        )
        images, posteriors = images[batch][of_batch], labeled[-1][0][of_batch]
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
      if cohort:
        for name, value in labeler.measured.items():
          np.testing.assert_allclose(
            output.metrics['client'][name], value, rtol=1e-3
          )
        labeler.learn(labeled)
      sgd.step(*terms)
      federation.assert_equal(state)
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
    self.assertBetween(num_confident, 1, num_labeled - 1)
    self.assertGreater(num_updates[0], 4)

  def test_a_client_that_is_rejected_tells_nothing_of_its_classes(self):
    problem = linear_problem.LinearProblem()
    process = _build(
      'client_prior_sgd',
      confidence_threshold=0.6,
      server_pretraining_epochs=2.0,
      client_labeled_images=6,
    )
    state = process.initialize()._replace(round_num=1)
    weights = state.global_model_weights
    broken = tf.nest.map_structure(
      lambda array: np.full_like(array, np.nan), weights.trainable
    )
    output = process.next(
      state._replace(global_model_weights=weights._replace(trainable=broken)),
      problem.server_data,
      _client_data(problem, [0, 1], {0: 0, 1: 0}),
    )
    self.assertEqual(output.metrics['client']['num_rejected'], 2)
    self.assertEqual(output.state.guidance['method'].pull, 0)


if __name__ == '__main__':
  absltest.main()
