# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that random numbers are functions of all their keys."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_PURPOSES = list(random_seeds.Purpose)
_PURPOSE = random_seeds.Purpose.STRONG_VIEW
_NUM_DRAWS = 2000


def _stateless_draws(*keys):
  seed = random_seeds.stateless_seed(*keys)
  return tf.random.stateless_uniform([_NUM_DRAWS], seed).numpy()


def _numpy_draws(*keys):
  return random_seeds.numpy_generator(*keys).random(_NUM_DRAWS)


class DrawsTest(parameterized.TestCase, tf.test.TestCase):
  """Tests of both kinds of draws."""

  @parameterized.parameters(_stateless_draws, _numpy_draws)
  def test_keys_and_purposes_do_not_share_a_stream(self, draw):
    self.assertAllEqual(draw(3, _PURPOSE, 1, 2), draw(3, _PURPOSE, 1, 2))
    streams = [
      *(draw(0, purpose, 1) for purpose in _PURPOSES),
      *(draw(0, _PURPOSE, round_num) for round_num in range(2, 8)),
    ]
    correlations = np.corrcoef(streams) - np.eye(len(streams))
    # Correlations of independent draws have deviation 1 / sqrt(draws).
    self.assertLess(np.abs(correlations).max(), 5 / np.sqrt(_NUM_DRAWS))

  @parameterized.parameters(_stateless_draws, _numpy_draws)
  def test_any_key_that_differs_gives_other_draws(self, draw):
    keys = itertools.product(range(3), repeat=4)
    first_draws = [draw(seed, _PURPOSE, *rest)[0] for seed, *rest in keys]
    # float32 has 2^23 values in [0, 1); two of 81 draws are equal once in 2600
    # cases.
    self.assertLen(set(first_draws), 3**4)


class StatelessSeedTest(tf.test.TestCase):
  def test_one_more_key_is_folded_in(self):
    seed = random_seeds.stateless_seed(1, _PURPOSE, 2)
    self.assertAllEqual(
      random_seeds.stateless_seed(1, _PURPOSE, 2, 3),
      random_draws.fold_in(seed, 3),
    )
    self.assertNotAllEqual(random_draws.fold_in(seed, 0), seed)

  def test_tensors_in_a_graph_give_the_seed_of_integers(self):
    @tf.function
    def in_graph(seed, round_num, client):
      return random_seeds.stateless_seed(seed, _PURPOSE, round_num, client)

    self.assertAllEqual(
      in_graph(tf.constant(7), tf.constant(8, tf.int64), tf.constant(9)),
      random_seeds.stateless_seed(7, _PURPOSE, 8, 9),
    )


if __name__ == '__main__':
  absltest.main()
