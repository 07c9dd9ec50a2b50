# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of draws of examples."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow as tf

from tff_semifl.algorithms import gradient_steps
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_BATCH_SIZE = 3
_NUM_ROUNDS = 40


def _create_population(num_images):
  """Creates five clients: two are in a round, and one in five drops out."""
  data = sources.ImagePool(
    np.zeros([5 * num_images, 1, 1, 1], np.uint8),
    np.zeros([5 * num_images], np.int32),
  )
  return pipelines.ClientPopulation(
    data,
    np.split(np.arange(5 * num_images), 5),
    clients_per_round=2,
    seed=3,
    dropout_probability=0.2,
    know_participation=True,
  )


@tf.function(reduce_retracing=True)
def _select(num_images, num_before, client_id):
  seed = random_seeds.stateless_seed(
    0, random_seeds.Purpose.FIX_ORDER, client_id
  )
  return gradient_steps.select_batch(num_images, _BATCH_SIZE, num_before, seed)


def _visit(population, rounds):
  """The (round, client, indices of images) of all updates of rounds."""
  visits = []
  for round_num in rounds:
    for dataset in population.datasets(round_num):
      [chunk] = dataset.as_numpy_iterator()
      batch = _select(
        tf.constant(len(chunk['image'])),
        tf.constant(chunk['earlier_rounds']),
        tf.constant(chunk['client_id']),
      )
      visits.append((round_num, int(chunk['client_id']), batch.numpy()))
  return visits


class EpochsOfClientsTest(parameterized.TestCase):
  @parameterized.named_parameters(('even', 6), ('remainder', 7), ('few', 2))
  def test_each_image_once_an_epoch_in_however_few_rounds(self, num_images):
    batches_per_epoch = -(-num_images // _BATCH_SIZE)
    visits = _visit(_create_population(num_images), range(_NUM_ROUNDS))
    for client in range(5):
      rounds = [round_num for round_num, who, _ in visits if who == client]
      batches = [batch for _, who, batch in visits if who == client]
      # The client skips rounds irregularly, and takes part for over two epochs.
      self.assertGreater(len(set(np.diff(rounds))), 1)
      self.assertGreater(len(batches), 2 * batches_per_epoch)
      epochs = [
        batches[start : start + batches_per_epoch]
        for start in range(0, len(batches), batches_per_epoch)
      ]
      for epoch in epochs[:-1]:
        self.assertCountEqual(np.concatenate(epoch), range(num_images))
      unfinished = np.concatenate(epochs[-1])
      self.assertLen(set(unfinished), len(unfinished))
      self.assertEqual(
        {len(batch) for batch in batches},
        {min(_BATCH_SIZE, num_images), num_images % _BATCH_SIZE or _BATCH_SIZE},
      )
      # Epochs have different orders, and so have clients.
      if num_images > 2:
        orders = {tuple(np.concatenate(epoch)) for epoch in epochs[:-1]}
        self.assertGreater(len(orders), 1)

  def test_a_population_that_begins_in_the_middle_goes_on(self):
    whole = _visit(_create_population(7), range(_NUM_ROUNDS))
    rest = _visit(_create_population(7), range(17, _NUM_ROUNDS))
    expected = [visit for visit in whole if visit[0] >= 17]
    self.assertEqual(
      [(*visit[:2], visit[2].tolist()) for visit in rest],
      [(*visit[:2], visit[2].tolist()) for visit in expected],
    )

  def test_without_images_there_is_nothing_to_visit(self):
    seed = random_seeds.stateless_seed(0, random_seeds.Purpose.FIX_ORDER, 0)
    self.assertEmpty(gradient_steps.select_batch(0, 3, 5, seed).numpy())


class SelectFromStreamTest(parameterized.TestCase):
  @parameterized.parameters((7, 3), (3, 8), (1, 2))
  def test_batches_are_whole_and_in_a_row_orders_of_all(
    self, num_images, batch_size
  ):
    seed = tf.constant([1, 2])
    batches = [
      random_draws.select_from_stream(
        num_images, batch_size, step, seed
      ).numpy()
      for step in range(12)
    ]
    self.assertEqual({len(batch) for batch in batches}, {batch_size})
    stream = np.concatenate(batches)
    orders = [
      stream[start : start + num_images]
      for start in range(0, len(stream) - num_images + 1, num_images)
    ]
    self.assertGreater(len(orders), 4)
    for order in orders:
      self.assertCountEqual(order, range(num_images))
    if num_images > 2:
      self.assertGreater(len({tuple(order) for order in orders}), 1)


class OrderTest(tf.test.TestCase):
  def test_follows_from_the_seed(self):
    orders = [
      random_draws.order(tf.constant(20), tf.constant(seed))
      for seed in ([1, 2], [1, 2], [1, 3])
    ]
    self.assertCountEqual(orders[0].numpy(), range(20))
    self.assertAllEqual(orders[0], orders[1])
    self.assertNotAllEqual(orders[0], orders[2])


class BetaTest(parameterized.TestCase):
  # With a concentration of 0.001, nearly all draws are 0 or 1 in float32.
  @parameterized.parameters(1e-3, 0.03, 0.75, 10)
  def test_share_below_each_bound_is_that_of_the_distribution(self, a):
    draws = random_draws.beta(4000, tf.constant([3, 4]), concentration=a)
    for bound in (1e-30, 1e-10, 0.01, 0.2, 0.499, 0.501, 0.8, 1 - 1e-5):
      expected = stats.beta(a, a).cdf(bound)
      deviation = np.sqrt(expected * (1 - expected) / 4000)
      np.testing.assert_allclose(
        np.mean(draws <= bound), expected, atol=5 * deviation + 1 / 4000
      )


if __name__ == '__main__':
  absltest.main()
