# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL's federated SGD against a second implementation.

The second implementation is a loop over steps. Each step concatenates the
cohort's images and passes them through the network of `wide_resnet_reference`,
in float64. Only the random numbers are TensorFlow's.
"""

from typing import NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests import wide_resnet_reference
from tff_semifl import runtime
from tff_semifl.baselines.fedsgd import union_images
from tff_semifl.core import statistics_passes
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_SEED = 5
_TOTAL_ROUNDS = 8
_LEARNING_RATE = 0.03
_THRESHOLD = 0.9
_CLIENTS_PER_STEP = 2
_CLIENT_BATCH_SIZE = 3
_SERVER_BATCH_SIZE = 4
# Two, one and two batches: in the last steps of an epoch, some clients have
# none.
_CLIENT_SIZES = (5, 2, 6)
_LABELS = np.arange(6) % wide_resnet_reference.NUM_CLASSES


def _build(**ingredients):
  return small_systems.build(
    'fedsgd_fixmatch_as_in_semifl',
    {
      'total_rounds': _TOTAL_ROUNDS,
      'clients_per_step': _CLIENTS_PER_STEP,
      'client_batch_size': _CLIENT_BATCH_SIZE,
      'server_batch_size': _SERVER_BATCH_SIZE,
      'confidence_threshold': _THRESHOLD,
      'learning_rate': _LEARNING_RATE,
    },
    weak_augmentation=linear_reference.mirrored,
    strong_augmentation=linear_reference.inverted,
    seed=_SEED,
    **ingredients,
  )


class _Problem:
  """Labeled images and three clients, whose images consist of patches."""

  def __init__(self):
    self.images = wide_resnet_reference.create_images(len(_LABELS), seed=9)
    self.server_data = linear_reference.labeled_dataset(self.images, _LABELS)
    self.clients = [
      wide_resnet_reference.create_images(size, seed=number)
      for number, size in enumerate(_CLIENT_SIZES)
    ]

  def client_data(self, order):
    return [
      linear_reference.client_dataset(client, self.clients[client])
      for client in order
    ]


def draw_cohorts(num_batches, clients_per_step, seed):
  """The clients of each step, as pairs (client, the client's earlier steps)."""
  left, cohorts = np.array(num_batches, np.int32), []
  while any(left):
    clients = union_images.draw_cohort(
      tf.constant(left),
      clients_per_step,
      random_draws.fold_in(seed, len(cohorts)),
    ).numpy()
    cohorts.append([(c, num_batches[c] - left[c]) for c in clients])
    left[clients] -= 1
  return cohorts


class _OwnLabels(NamedTuple):
  """The labels of a client's images in a step."""

  images: np.ndarray
  labels: np.ndarray
  share: np.ndarray


class _Epoch(NamedTuple):
  """Observations of the second implementation in an epoch."""

  confidences: list[np.ndarray]
  client_loss: float
  server_loss: float
  labeled: dict[int, list[_OwnLabels]]


def _train_epoch(problem, sgd, round_num):
  """Takes the steps of a round."""
  purpose = random_seeds.Purpose

  def seed(which, *keys):
    return random_seeds.stateless_seed(_SEED, which, round_num, *keys)

  num_batches = [-(-size // _CLIENT_BATCH_SIZE) for size in _CLIENT_SIZES]
  cohorts = draw_cohorts(num_batches, _CLIENTS_PER_STEP, seed(purpose.COHORT))
  orders = np.concatenate(
    [
      tf.random.experimental.stateless_shuffle(
        tf.range(len(_LABELS)),
        random_draws.fold_in(seed(purpose.SERVER_ORDER), number),
      ).numpy()
      for number in range(9)
    ]
  )
  confidences, client_losses, server_losses = [], [], []
  labeled = {client: [] for client in range(len(_CLIENT_SIZES))}
  for step, cohort in enumerate(cohorts):
    parts, owners = [], []
    for client, update in cohort:
      start = update * _CLIENT_BATCH_SIZE
      batch = slice(start, start + _CLIENT_BATCH_SIZE)
      owners.append((client, np.arange(_CLIENT_SIZES[client])[batch]))
      parts.append(problem.clients[client][batch])
    union = tf.constant(np.concatenate(parts))
    weak = linear_reference.mirrored(union, seed(purpose.WEAK_VIEW, step))
    probabilities = linear_reference.softmax(sgd.logits(weak.numpy()))
    confidences.append(probabilities.max(axis=1))
    is_sure = confidences[-1] >= _THRESHOLD
    share = is_sure * len(is_sure) / max(is_sure.sum(), 1)
    first = 0
    for client, images in owners:
      of_client = slice(first, first + len(images))
      labeled[client].append(
        _OwnLabels(
          images, probabilities.argmax(axis=1)[of_client], share[of_client]
        )
      )
      first += len(images)
    batch = orders[step * _SERVER_BATCH_SIZE : (step + 1) * _SERVER_BATCH_SIZE]
    views = linear_reference.mirrored(
      tf.constant(problem.images[batch]),
      seed(purpose.SERVER_AUGMENTATION, step),
    )
    terms = [(1.0, views.numpy(), _LABELS[batch])]
    if np.any(confidences[-1] >= _THRESHOLD):
      strong = linear_reference.inverted(union, seed(purpose.STRONG_VIEW, step))
      terms.append((1.0, strong.numpy(), probabilities.argmax(axis=1)))
    server_losses.append(_loss(sgd, terms[0]))
    if len(terms) > 1:
      client_losses += [_loss(sgd, terms[1])] * len(union)
    sgd.step(*terms)
  return _Epoch(
    confidences,
    np.mean(client_losses) if client_losses else np.nan,
    np.mean(server_losses),
    labeled,
  )


def _loss(sgd, term):
  _, images, labels = term
  probabilities = linear_reference.softmax(sgd.logits(images))
  return -np.mean(np.log(probabilities[np.arange(len(labels)), labels]))


class CohortsTest(parameterized.TestCase):
  @parameterized.parameters(([4, 1, 0, 2, 7], 3), ([2, 2], 5), ([0, 0], 2))
  def test_clients_have_their_turns_and_cohorts_are_as_large_as_can_be(
    self, num_batches, clients_per_step
  ):
    left = list(num_batches)
    seed = tf.constant([7, 0])
    for cohort in draw_cohorts(num_batches, clients_per_step, seed):
      clients = [client for client, _ in cohort]
      self.assertLen(set(clients), len(clients))
      num_left = sum(n > 0 for n in left)
      self.assertLen(clients, min(clients_per_step, num_left))
      for client, earlier in cohort:
        self.assertEqual(earlier, num_batches[client] - left[client])
        left[client] -= 1
    self.assertEqual(set(left), {0})

  def test_first_cohorts_are_uniform(self):
    draw = tf.function(
      lambda seed: union_images.draw_cohort(tf.ones([5], tf.int32), 2, seed)
    )
    counts = np.zeros(5)
    for seed in range(400):
      counts[draw(tf.constant([7, seed])).numpy()] += 1
    # Each client is drawn with probability 2/5: 160 of 400 times, standard
    # deviation 9.8.
    np.testing.assert_allclose(counts, 160, atol=4 * 9.8)

  def test_images_are_cut_from_those_of_each_client(self):
    # Images 0 to 4 are of client 0, none of client 1, 5 to 11 of client 2.
    for clients, earlier_steps, expected in (
      ([2, 0], [0, 0], [5, 6, 7, 0, 1, 2]),
      ([0, 2], [1, 1], [3, 4, 8, 9, 10]),
      ([2], [2], [11]),
    ):
      found = union_images.find_images(
        tf.constant(clients),
        tf.constant(earlier_steps),
        tf.constant([5, 0, 7]),
        3,
      )
      np.testing.assert_array_equal(found, expected)


class GatheringTest(absltest.TestCase):
  def test_clients_are_in_the_order_of_their_numbers(self):
    images = {
      number: linear_reference.create_images(size, seed=number)
      for number, size in ((5, 3), (0, 1), (9, 0), (2, 4))
    }
    gather = union_images.build_gathering(linear_reference.IMAGE_SHAPE)
    datasets = [
      linear_reference.client_dataset(*client) for client in images.items()
    ]
    # The result does not depend on chunks.
    datasets[0] = linear_reference.client_dataset(5, images[5][:2]).concatenate(
      linear_reference.client_dataset(5, images[5][2:])
    )
    with runtime.simulation_context():
      found = gather(datasets)
    np.testing.assert_array_equal(found.client_id, [0, 2, 5, 9])
    np.testing.assert_array_equal(found.num_images, [1, 4, 3, 0])
    np.testing.assert_array_equal(
      found.image, np.concatenate([images[number] for number in (0, 2, 5, 9)])
    )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_the_reference(self):
    """Runs round 0 without clients, and two epochs."""
    classifier = wide_resnet_reference.create_classifier()
    problem = _Problem()
    process = _build(classifier=classifier, returns_given_labels=True)
    state = process.initialize()
    before = state.global_model_weights.trainable
    sgd = wide_resnet_reference.WideResNetSGD(classifier, before, 0.0)
    confidences = []
    # Clients come in different orders.
    for round_num, order in enumerate(([], [2, 0, 1], [0, 1, 2])):
      output = process.next(
        state, problem.server_data, problem.client_data(order)
      )
      state = output.state
      rate = (
        _LEARNING_RATE
        * (1 + np.cos(np.pi * (max(round_num, 1) - 1) / _TOTAL_ROUNDS))
        / 2
      )
      metrics = output.metrics
      self.assertAlmostEqual(metrics['learning_rate'], rate, places=6)
      self.assertEqual(metrics['client']['num_participating'], len(order))
      if not order:
        for found, expected in zip(
          state.global_model_weights.trainable, before, strict=True
        ):
          np.testing.assert_array_equal(found, expected)
        continue
      sgd.learning_rate = rate
      epoch = _train_epoch(problem, sgd, round_num)
      confidences += epoch.confidences
      self.assertLess(
        wide_resnet_reference.relative_error(
          state.global_model_weights.trainable, sgd.weights, before
        ),
        1e-4,
      )
      self.assertAlmostEqual(
        metrics['server']['loss'], epoch.server_loss, places=4
      )
      self.assertAlmostEqual(
        metrics['client']['loss'], epoch.client_loss, places=4
      )
      for client, given in zip(order, output.given_labels, strict=True):
        for found, *expected in zip(given, *epoch.labeled[client], strict=True):
          np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-6)
      seen = np.concatenate(epoch.confidences)
      self.assertLen(seen, sum(_CLIENT_SIZES))
      self.assertAlmostEqual(
        metrics['client']['label_ratio'], np.mean(seen >= _THRESHOLD), places=6
      )
    # A round ends with statistics of the server's images.
    compute = statistics_passes.build_server_pass(classifier)
    weights = state.global_model_weights
    for found, expected in zip(
      weights.non_trainable,
      compute(weights, problem.server_data).non_trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)
    # In some steps no image of clients is confident, and in some steps only a
    # part of a union. No decision depends on rounding.
    are_confident = [step >= _THRESHOLD for step in confidences]
    self.assertTrue(any(not step.any() for step in are_confident))
    self.assertTrue(
      any(step.any() and not step.all() for step in are_confident)
    )
    margins = np.abs(np.concatenate(confidences) - _THRESHOLD)
    self.assertGreater(margins.min(), 1e-3)


if __name__ == '__main__':
  absltest.main()
