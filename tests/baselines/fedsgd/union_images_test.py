# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of gathered images and of the cohorts of an epoch's steps (D55)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl import runtime
from tff_semifl.baselines.fedsgd import union_images


def _draw(num_batches, clients_per_step):
  """Returns for each step its clients, as pairs (client, earlier updates)."""
  cohorts = union_images.draw_cohorts(
    tf.constant(num_batches, tf.int32), clients_per_step, tf.constant([7, 0])
  )
  return [
    [(c, t) for c, t in zip(clients, earlier_steps, strict=True) if c >= 0]
    for clients, earlier_steps in zip(
      cohorts.clients.numpy(), cohorts.earlier_steps.numpy(), strict=True
    )
  ]


class EpochCohortsTest(parameterized.TestCase):
  @parameterized.parameters(([4, 1, 0, 2, 7], 3), ([2, 2], 5), ([2] * 30, 10))
  def test_every_client_has_its_turns_and_cohorts_are_as_large_as_can_be(
    self, num_batches, clients_per_step
  ):
    left = list(num_batches)
    for cohort in _draw(num_batches, clients_per_step):
      clients = [client for client, _ in cohort]
      self.assertLen(set(clients), len(clients))
      num_left = sum(n > 0 for n in left)
      self.assertLen(clients, min(clients_per_step, num_left))
      for client, earlier in cohort:
        self.assertEqual(earlier, num_batches[client] - left[client])
        left[client] -= 1
    self.assertEqual(set(left), {0})

  @parameterized.parameters(([],), ([0, 0],))
  def test_nobody_with_a_batch_is_no_step(self, num_batches):
    self.assertEmpty(_draw(num_batches, 2))

  def test_first_cohorts_are_uniform(self):
    draw = tf.function(
      lambda seed: union_images.draw_cohorts(
        tf.ones([5], tf.int32), 2, seed
      ).clients
    )
    counts = np.zeros(5)
    for seed in range(400):
      counts[draw(tf.constant([7, seed]))[0].numpy()] += 1
    # Each is drawn with probability 2/5: 160 of 400, standard deviation 9.8.
    np.testing.assert_allclose(counts, 160, atol=4 * 9.8)


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
    # Cut into chunks, which makes no difference.
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

  def test_nobody_has_nothing(self):
    gather = union_images.build_gathering(linear_reference.IMAGE_SHAPE)
    with runtime.simulation_context():
      found = gather([])
    self.assertEqual(found.client_id.shape, (0,))
    self.assertEqual(found.image.shape, (0, *linear_reference.IMAGE_SHAPE))


class FindImagesTest(tf.test.TestCase):
  def test_batches_are_cut_from_the_images_of_each_client(self):
    # Images 0..4 are of client 0, none of client 1, 5..11 of client 2.
    num_images = tf.constant([5, 0, 7])
    cohorts = union_images.EpochCohorts(
      clients=tf.constant([[2, 0], [0, 2], [2, -1]]),
      earlier_steps=tf.constant([[0, 0], [1, 1], [2, 0]]),
    )
    expected = [[5, 6, 7, 0, 1, 2], [3, 4, 8, 9, 10], [11]]
    for step, images in enumerate(expected):
      self.assertAllEqual(
        union_images.find_images(cohorts, step, num_images, 3), images
      )


if __name__ == '__main__':
  absltest.main()
