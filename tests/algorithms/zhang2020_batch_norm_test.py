# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of batch normalization in the systems of Zhang et al."""

import collections

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tests import linear_reference
from tests import local_steps_reference
from tests import simulation_test_case
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm


def _draw_batches(num_images, node):
  """The indices of a node's batches in round 1."""
  return local_steps_reference.draw_batches(
    num_images,
    seed=zhang2020_reference.SEED,
    round_num=1,
    node=node,
    num_steps=zhang2020_reference.NUM_STEPS,
    batch_size=zhang2020_reference.BATCH_SIZE,
  )


def _move(average, pixels):
  """The running mean and variance after one more batch."""
  mean, variance = average
  return (
    0.9 * mean + 0.1 * pixels.mean(),
    0.9 * variance + 0.1 * pixels.var(ddof=1),
  )


class BatchNormTest(simulation_test_case.SimulationTestCase):
  """Tests that running averages stay at each node."""

  def setUp(self):
    super().setUp()
    self.classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(
            linear_reference.NUM_CLASSES,
            kernel_initializer=tf.keras.initializers.RandomNormal(seed=0),
          ),
        ]
      )
    )

  def _average(self, images, batches, concatenated=None):
    """The running mean and variance of raw pixels after a round."""
    average = 0.0, 1.0
    for batch in batches:
      pixels = images[batch].astype(np.float64)
      if concatenated is not None:
        pixels = np.concatenate([pixels, concatenated(pixels)])
      average = _move(average, pixels)
    return [average[0]], [average[1]]

  def test_running_averages_of_each_node(self):
    problem = linear_problem.LinearProblem()
    process = zhang2020_reference.SlottedProcess(
      zhang2020_reference.build(
        'consistency_averaging',
        classifier=self.classifier,
        weak_augmentation=linear_reference.unchanged,
        strong_augmentation=lambda images, seed: 255 - images,
      ),
      3,
    )
    state = process.initialize()._replace(round_num=1)
    state = process.next(
      state, problem.server_data, problem.client_data([2, 1])
    ).state

    expected = [
      self._average(
        images, _draw_batches(len(images), node), lambda pixels: 255 - pixels
      )
      for node, images in (problem.clients[2], problem.clients[1])
    ]
    expected.append(([0.0], [1.0]))
    for slot, each in zip(state.slots, expected, strict=True):
      for a, b in zip(slot.client['statistics'], each, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    replicas = [
      self._average(problem.images, _draw_batches(5, -1 - group))
      for group in range(2)
    ]
    for index in range(2):
      np.testing.assert_allclose(
        state.server_work['statistics'][index],
        [replica[index] for replica in replicas],
        rtol=1e-4,
      )
      # The evaluation uses the running averages of the server's first replica.
      np.testing.assert_allclose(
        state.global_model_weights.non_trainable[index],
        replicas[0][index],
        rtol=1e-4,
      )

  @pytest.mark.slow
  def test_self_training_labels_by_the_averages_of_the_slot(self):
    problem = linear_problem.LinearProblem()
    process = zhang2020_reference.SlottedProcess(
      zhang2020_reference.build(
        'self_training_averaging',
        {
          'confidence_threshold': 0.9,
          # Weights are unchanged, so that labels depend on running averages
          # alone.
          'learning_rate': 1e-12,
        },
        classifier=self.classifier,
        weak_augmentation=linear_reference.unchanged,
      ),
      3,
    )
    state = process.initialize()._replace(round_num=1)
    ratios = []
    # If pixels are divided by a million, all images are alike, and no label is
    # confident.
    for variance in (1.0, 1e12):
      slot = state.slots[0]
      memory = collections.OrderedDict(slot.client)
      memory['statistics'] = [
        np.zeros([1], np.float32),
        np.full([1], variance, np.float32),
      ]
      slots = (slot._replace(client=memory), *state.slots[1:])
      output = process.next(
        state._replace(slots=slots),
        problem.server_data,
        problem.client_data([0]),
      )
      ratios.append(output.metrics['client']['label_ratio'])
    self.assertGreater(ratios[0], 0)
    self.assertEqual(ratios[1], 0)


if __name__ == '__main__':
  absltest.main()
