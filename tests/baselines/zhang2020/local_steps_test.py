# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the images in the steps of a round, and of groups."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import local_steps_reference
from tff_semifl import settings
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop
from tff_semifl.models import functional

_SEED = 5


class TrainTest(parameterized.TestCase):
  def _train(
    self, num_images, *, num_steps=16, batch_size=64, round_num=3, node=2
  ):
    """Trains; returns the batches of a round, the result, and the step."""
    steps = local_steps.LocalSteps(
      classifier=None,
      num_steps=num_steps,
      batch_size=batch_size,
      optimizer=optimizers.build_nesterov_sgd(
        momentum=0.0, weight_decay=0.0, clip_norm=None
      ),
      # With a gradient of 1, the sum of learning rates identifies the steps.
      learning_rate_fn=lambda step: tf.cast(step, tf.float32),
    )
    weights = functional.ModelWeights((tf.zeros([]),), ())
    batches = []

    def loss(model, batch, state):
      del state
      batches.append(batch.numpy().tolist())
      return training_loop.BatchOutput(model.weights.trainable[0], 0.0)

    # Runs eagerly, so that batches can be inspected.
    result = steps.train(
      weights,
      training_loop.initial_optimizer_state(steps.optimizer, weights.trainable),
      node=federated_process.Node(
        federated_process.RoundContext(_SEED, round_num, 0.0), tf.constant(node)
      ),
      num_images=tf.constant(num_images),
      views_fn=tf.identity,
      loss_fn=loss,
    )
    return batches, result, -result.trainable[0]

  @parameterized.parameters(
    # As many labels as the server of Zhang et al.: 15 batches per epoch.
    (1000, 16, 64),
    (40, 16, 64),
    (7, 5, 3),
  )
  def test_batches_are_whole_and_passes_follow_each_other(
    self, num_images, num_steps, batch_size
  ):
    batches, result, _ = self._train(
      num_images, num_steps=num_steps, batch_size=batch_size
    )
    size = min(num_images, batch_size)
    self.assertEqual([len(b) for b in batches], [size] * num_steps)
    per_pass = num_images // size
    for start in range(0, num_steps, per_pass):
      in_pass = sum(batches[start : start + per_pass], [])
      self.assertLen(set(in_pass), len(in_pass))
    expected = local_steps_reference.draw_batches(
      num_images,
      seed=_SEED,
      round_num=3,
      node=2,
      num_steps=num_steps,
      batch_size=batch_size,
    )
    self.assertEqual(batches, [b.tolist() for b in expected])
    self.assertEqual(result.sums.num_visited, num_steps * size)

  def test_learning_rates_are_those_of_the_steps_of_the_run(self):
    # Round 3, with 4 steps per round: 8 + 9 + 10 + 11.
    _, _, moved = self._train(10, num_steps=4, batch_size=2)
    np.testing.assert_allclose(moved, 38.0, rtol=1e-5)

  @parameterized.parameters((10, 0), (0, 3))
  def test_round_0_and_no_images(self, num_images, round_num):
    batches, result, moved = self._train(num_images, round_num=round_num)
    self.assertEmpty(batches)
    self.assertEqual(result.sums.num_visited, 0)
    self.assertEqual(moved, 0)


class SlotsPerGroupTest(parameterized.TestCase):
  @parameterized.parameters(
    # The group sizes of the paper, 5+5 and 10+10+10+10+7; and the server alone.
    (10, 2, 5),
    (47, 5, 10),
    (0, 1, 1),
  )
  def test_sizes(self, clients_per_round, num_groups, expected):
    self.assertEqual(
      group_averaging.slots_per_group(clients_per_round, num_groups), expected
    )

  # Four clients fill two groups of two.
  @parameterized.parameters((3, 4, 3), (0, 2, 1), (4, 3, 2))
  def test_group_without_slot(self, clients_per_round, num_groups, num_filled):
    with self.assertRaisesRegex(
      settings.SettingError,
      f'num_groups={num_groups}: .* fill {num_filled} groups',
    ):
      group_averaging.slots_per_group(clients_per_round, num_groups)


class GroupMeanTest(absltest.TestCase):
  def test_clients_weigh_what_they_say_and_a_replica_one(self):
    """One group has clients of weights 0.5 and 2, the other no client."""
    received = (np.array([[8.0, 8.0], [1.0, 1.0]], np.float32),)
    replicas = (np.array([[1.0, 2.0], [3.0, 4.0]], np.float32),)
    sums = [
      group_averaging.place_in_group(
        (tf.constant(update),), tf.constant(weight), 0, 2
      )
      for update, weight in (([2.0, 0.0], 0.5), ([1.0, 4.0], 2.0))
    ]
    (found,) = group_averaging.average_groups(
      received, tf.nest.map_structure(tf.add, *sums), replicas
    )
    # 8 - 2 and 8 - 1, 8 - 0 and 8 - 4.
    expected = [(0.5 * 6 + 2 * 7 + 1) / 3.5, (0.5 * 8 + 2 * 4 + 2) / 3.5]
    np.testing.assert_allclose(found, [expected, [3.0, 4.0]], rtol=1e-6)


if __name__ == '__main__':
  absltest.main()
