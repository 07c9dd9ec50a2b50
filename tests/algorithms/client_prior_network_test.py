# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a network trained on labels of `client_priors`."""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.algorithms.client_priors import numpy_reference
from tests.core import linear_problem
from tff_semifl.algorithms import client_prior_network
from tff_semifl.algorithms import network_labels
from tff_semifl.algorithms.client_priors import process as process_lib
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.core import hook_arguments
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
      tf.nest.flatten(state.guidance['method'].priors),
      tf.nest.flatten(other._replace(aggregator=())),
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)

  @parameterized.parameters(False, True)
  def test_labels_by_layer_equal_numpy(self, features):
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
    kernel, bias = _draw_weights(size, 1 if features else 255)
    output = process.next(
      _with_labels(state, kernel, bias),
      problem.server_data,
      _client_data(problem, features),
    )
    self.assertEqual(output.metrics['client']['labels_by_network'], 0)

    def find_logits(client, images):
      x = images.reshape(len(images), -1)
      if features:
        x = _features(len(images), client)
      return x @ kernel + bias

    sgd.learning_rate = linear_problem.learning_rate(1)
    terms, _ = _train_clients(problem, find_logits)
    sgd.step(*terms)
    linear_problem.Federation(sgd).assert_equal(output.state)

  def test_labels_by_network_equal_numpy(self):
    """Rounds 5 and 6 of 10 are the second phase."""
    problem, process = linear_problem.LinearProblem(), _build()
    teacher, bias = _draw_weights(4, 255), np.array([0.1, -0.2, 0.1])
    state = process.initialize()
    sgd = linear_reference.NumpySGD(
      state.global_model_weights.trainable, linear_problem.learning_rate(1)
    )
    state = _with_labels(state, *_draw_weights(4, 1000))
    kept = state.guidance['method']
    # The teacher has exchanged classes 0 and 1.
    classes = np.array([1, 0, 2])
    kept = kept._replace(
      classes=classes.astype(np.int32),
      teacher=kept.teacher._replace(
        trainable=tuple(each.astype(np.float32) for each in teacher)
      ),
      bias=bias.astype(np.float32),
      is_network=np.True_,
    )
    state = state._replace(guidance={'method': kept}, round_num=np.int32(5))
    for round_num, rate in ((5, 1.0), (6, 0.5)):
      output = process.next(
        state, problem.server_data, _client_data(problem, False)
      )
      state = output.state
      self.assertEqual(output.metrics['client']['labels_by_network'], 1)

      def find_logits(client, images, bias=bias):
        del client
        logits = linear_reference.logits(teacher, images)
        read = special.log_softmax(logits, axis=1)[:, classes]
        return read - np.log(_SHARES) + bias

      terms, labels = _train_clients(problem, find_logits)
      sgd.learning_rate = rate * linear_problem.learning_rate(1)
      sgd.step(*terms)
      linear_problem.Federation(sgd).assert_equal(state)
      expected = labels.sum() * _SHARES
      bias = bias + 0.1 * (expected - labels) / expected
      kept = state.guidance['method']
      if round_num == 5:
        np.testing.assert_allclose(kept.bias, bias, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(
          kept.teacher.trainable[1], teacher[1].astype(np.float32)
        )
    np.testing.assert_array_equal(kept.bias, np.zeros(3))
    for found, trained in zip(
      kept.teacher.trainable, state.global_model_weights.trainable, strict=True
    ):
      np.testing.assert_array_equal(found, trained)

  @parameterized.parameters(
    ([[5, 0, 0], [0, 5, 0], [0, 0, 5]], [0, 1, 2]),
    ([[5, 0, 0], [0, 0, 5], [0, 5, 0]], [0, 2, 1]),
    # All images of two classes look like one of them.
    ([[5, 0, 0], [0, 5, 0], [0.5, 5, 1]], [0, 1, 2]),
    # Of two exchanges, the one with the larger gain.
    ([[0, 0, 5], [0, 0, 9], [4, 5, 0]], [0, 2, 1]),
  )
  def test_classes_are_exchanged_if_labels_say_so(self, logits, expected):
    """Two labels of each class with the same logits."""
    logits = tf.constant(logits + logits, tf.float32)
    found = network_labels.find_exchange(logits, tf.constant([0, 1, 2] * 2))
    np.testing.assert_array_equal(found, expected)

  def test_class_with_one_label_is_not_exchanged(self):
    logits = tf.constant([[5, 0, 0], [0, 0, 5], [0, 5, 0], [0, 0, 5]])
    for labels, expected in (
      ([0, 1, 2, 1], [0, 1, 2]),
      ([2, 1, 2, 1], [0, 2, 1]),
    ):
      found = network_labels.find_exchange(
        tf.cast(logits, tf.float32), tf.constant(labels)
      )
      np.testing.assert_array_equal(found, expected)

  def test_end_of_phase_exchanges_classes_of_teacher_and_layer(self):
    model = linear_reference.create_classifier()
    images = linear_reference.create_images(60)
    kernel, bias = _draw_weights(4, 0.1)
    logits = linear_reference.logits((kernel, bias), images)
    bias -= logits.mean(axis=0)
    labels = np.array([0, 2, 1])[(logits - logits.mean(axis=0)).argmax(axis=1)]
    self.assertLen(np.unique(labels), 3)
    weights = model.initial_weights._replace(
      trainable=(kernel.astype(np.float32), bias.astype(np.float32))
    )
    layer = state_lib.Labeler(
      *map(tf.constant, ([[1.0, 2.0, 3.0]], [3.0, 4.0, 5.0], np.float64(7)))
    )
    priors = state_lib.start(model.initial_weights, 4, 3)
    kept = network_labels.start(priors._replace(labeler=layer), model)
    server = hook_arguments.Server(
      model=model,
      seed=tf.constant(0),
      round_num=tf.constant(4),
      weights=weights,
      data=linear_reference.labeled_dataset(images, labels),
    )
    # A second phase in which the network learns nothing changes nothing.
    for _ in range(2):
      kept = network_labels.update(
        kept._replace(bias=tf.ones([3])),
        network_labels.Sums(tf.ones([3]), tf.ones([3])),
        server,
        tf.constant(True),
      )
      np.testing.assert_array_equal(kept.classes, [0, 2, 1])
      # Output 2 has class share 5 / 12, and class 1 has 4 / 12.
      np.testing.assert_allclose(
        kept.bias, np.log([1, 4 / 5, 5 / 4]), atol=1e-6
      )
      np.testing.assert_array_equal(kept.priors.labeler.weights, [[1, 3, 2]])
      np.testing.assert_array_equal(kept.priors.labeler.alpha, [3, 4, 5])

  @parameterized.parameters(
    (4, _STRENGTH, True),
    (5, _STRENGTH, False),
    # Clients have no class shares of their own.
    (4, 1e6, False),
  )
  def test_network_labels_if_right_as_often_as_layer(
    self, num_right, strength, expected
  ):
    """Four of six held-out labels are right; two others are not held out."""
    model = linear_reference.create_classifier()
    images = linear_reference.create_images(60)
    kernel, bias = _draw_weights(4, 0.1)
    logits = linear_reference.logits((kernel, bias), images)
    bias -= logits.mean(axis=0)
    predicted = (logits - logits.mean(axis=0)).argmax(axis=1)
    weights = model.initial_weights._replace(
      trainable=(kernel.astype(np.float32), bias.astype(np.float32))
    )
    chosen = np.concatenate(
      [np.flatnonzero(predicted == c)[:n] for c, n in enumerate((3, 4, 1))]
    )
    labels = predicted[chosen]
    labels[:2] = 1
    self.assertListEqual([*np.bincount(labels)], [1, 6, 1])
    layer = state_lib.Labeler(
      tf.zeros([5, 3], tf.float64),
      tf.constant(strength * _SHARES),
      tf.constant(num_right, tf.float64),
    )
    priors = state_lib.start(model.initial_weights, 4, 3)
    kept = network_labels.update(
      network_labels.start(priors._replace(labeler=layer), model),
      network_labels.Sums(tf.ones([3]), tf.ones([3])),
      hook_arguments.Server(
        model=model,
        seed=tf.constant(0),
        round_num=tf.constant(4),
        weights=weights,
        data=linear_reference.labeled_dataset(images[chosen], labels),
      ),
      tf.constant(True),
    )
    self.assertEqual(kept.is_network, expected)


def _draw_weights(size, scale):
  generator = np.random.default_rng(1)
  kernel = generator.normal(size=(size, 3)) / scale
  return kernel, generator.normal(size=3)


def _with_labels(state, kernel, bias, num_right=0):
  """A state with this layer, which predicts `num_right` held-out labels."""
  kept = state.guidance['method']
  labeler = kept.priors.labeler._replace(
    weights=np.concatenate([kernel, bias[np.newaxis]]),
    alpha=_STRENGTH * _SHARES,
    num_right=np.float64(num_right),
  )
  kept = kept._replace(priors=kept.priors._replace(labeler=labeler))
  return state._replace(guidance={'method': kept})


def _train_clients(problem, find_logits):
  """Terms of the gradient of the cohort, and the sum of all images' labels."""
  terms, labels = [], 0
  for client in _COHORT:
    images = problem.clients[client][1]
    posteriors, _, _ = numpy_reference.client_shares(
      find_logits(client, images), _STRENGTH * _SHARES
    )
    batch = linear_reference.order(
      len(images),
      linear_problem.SEED,
      random_seeds.Purpose.FIX_ORDER,
      client,
      0,  # The epoch.
    )[:3]
    terms.append((1 / len(_COHORT), images[batch], posteriors[batch]))
    labels = labels + posteriors.sum(axis=0)
  return terms, labels


if __name__ == '__main__':
  absltest.main()
