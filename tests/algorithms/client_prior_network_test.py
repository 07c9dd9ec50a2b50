# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a network trained on labels of `client_priors`."""

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
from tff_semifl.algorithms import client_prior_network
from tff_semifl.algorithms.client_priors import process as process_lib
from tff_semifl.privacy import aggregators
from tff_semifl.randomness import random_seeds

_SHARES = np.array([2, 2, 1]) / 5
_STRENGTH = 1.5
_FEATURES = 3
_COHORT = [2, 0]
# Of all passes, which repeat one computation.
_PASSES = 3


@functools.cache
def _build(num_features=None):
  return linear_problem.build(
    'client_prior_network',
    {'confidence_threshold': 0.01},
    num_features=num_features,
  )


def _features(number, seed):
  draws = np.random.default_rng(seed).normal(size=(number, _FEATURES))
  return draws.astype(np.float32)


def _client_data(problem, has_features):
  datasets = []
  for client in _COHORT:
    images = problem.clients[client][1]
    chunk = {'client_id': np.int32(client), 'earlier_rounds': np.int32(0)}
    if has_features:
      chunk['features'] = _features(len(images), client)
    chunk['image'] = images
    datasets.append(
      tf.data.Dataset.from_tensors(collections.OrderedDict(chunk))
    )
  return datasets


class ClientPriorNetworkTest(simulation_test_case.SimulationTestCase):
  def test_types(self):
    process = _build(_FEATURES)
    state_type = process.initialize.type_signature.result
    for each in process.preparations:
      self.assertTrue(state_type.is_assignable_from(each.type_signature.result))
    self.assertEqual(
      str(process.next.type_signature.parameter.client_data),
      '{<client_id=int32,earlier_rounds=int32,features=float32[?,3],'
      'image=uint8[?,2,2,1]>*}@CLIENTS',
    )

  def test_preparations_are_client_priors(self):
    problem, process = linear_problem.LinearProblem(), _build()
    clients = problem.client_data([0, 1, 2])
    state = process.initialize()
    for prepare in process.preparations[: 1 + _PASSES]:
      state = prepare(state, problem.server_data, clients)
    priors = process_lib.build(
      client_prior_network.create_layer(linear_reference.IMAGE_SHAPE, 3),
      aggregators.Mean().build(),
    )
    other = priors.next(priors.initialize(), problem.server_data, []).state
    (prepare,) = priors.preparations
    other = prepare(other, problem.server_data, clients)
    for _ in range(_PASSES):
      other = priors.next(other, problem.server_data, clients).state
    for found, expected in zip(
      tf.nest.flatten(state.guidance['method']),
      tf.nest.flatten(other._replace(aggregator=())),
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)

  @parameterized.parameters(False, True)
  def test_round_equals_numpy(self, features):
    problem = linear_problem.LinearProblem()
    process = _build(_FEATURES if features else None)
    state = process.initialize()
    sgd = linear_reference.NumpySGD(
      state.global_model_weights.trainable, linear_problem.learning_rate(0)
    )
    # Round 0 has no gradient, but weights decay.
    state = process.next(state, problem.server_data, []).state
    sgd.step()
    size = _FEATURES if features else 4
    generator = np.random.default_rng(1)
    kernel = generator.normal(size=(size, 3)) / (1 if features else 255)
    bias = generator.normal(size=3)
    kept = state.guidance['method']
    kept = kept._replace(
      labeler=kept.labeler._replace(
        weights=np.concatenate([kernel, bias[np.newaxis]]),
        alpha=_STRENGTH * _SHARES,
      ),
    )
    output = process.next(
      state._replace(guidance={'method': kept}),
      problem.server_data,
      _client_data(problem, features),
    )
    terms = []
    for client in _COHORT:
      images = problem.clients[client][1]
      x = images.reshape(len(images), -1)
      if features:
        x = _features(len(images), client)
      logits = x @ kernel + bias
      posteriors, _, _ = numpy_reference.client_shares(
        logits, _STRENGTH * _SHARES
      )
      batch = linear_reference.order(
        len(images),
        linear_problem.SEED,
        random_seeds.Purpose.FIX_ORDER,
        client,
        0,
      )[:3]
      terms.append((1 / len(_COHORT), images[batch], posteriors[batch]))
    sgd.learning_rate = linear_problem.learning_rate(1)
    sgd.step(*terms)
    linear_problem.Federation(sgd).assert_equal(output.state)


if __name__ == '__main__':
  absltest.main()
