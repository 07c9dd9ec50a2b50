# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of when the head of client priors stays as it is."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import server_steps

# Of the mixture and of the head that learns from it.
_TAUGHT = 6 + 12


class ServerStepsTest(parameterized.TestCase):
  @parameterized.parameters(
    (_TAUGHT + 5, 0.01, False),
    (_TAUGHT + 6, 0.01, True),
    (_TAUGHT + 23, -0.04, True),
    (_TAUGHT + 6, 0.03, False),
  )
  def test_head_stays_where_clients_are_alike(self, passes, evidence, stays):
    x = tf.constant([[1.0, 2.0], [-2.0, 1.0], [1.0, -1.0]], tf.float64)
    targets = tf.one_hot([0, 1, 1], 2, dtype=tf.float64)
    before = server_steps.start(2, 2)
    averages = before.averages._replace(
      posteriors=tf.constant([0.3, 0.7], tf.float64),
      log_shares=tf.constant([-1.2, -0.9], tf.float64),
      matrix=tf.constant([[0.1, 0.0], [0.2, -0.1], [0.3, 0.1]], tf.float64),
      variance=tf.constant([0.2, 0.1], tf.float64),
      evidence=tf.constant(evidence, tf.float64),
    )
    before = before._replace(
      passes=tf.constant(passes),
      num_averaged=tf.constant(20.0, tf.float64),
      averages=averages,
    )
    components = components_lib.Components(
      tf.eye(3, dtype=tf.float64),
      tf.ones([2], tf.float64),
      tf.constant(20.0, tf.float64),
    )
    after = server_steps.learn(before, components, x, targets)
    self.assertEqual(after.passes, passes + 1)
    self.assertEqual(after.num_averaged, 0)
    for name in ('head', 'point', 'bias', 'strength', 'precision'):
      unchanged = np.array_equal(getattr(after, name), getattr(before, name))
      self.assertEqual(unchanged, stays, name)


class ComponentsTest(parameterized.TestCase):
  @parameterized.parameters(
    (12, 10), (40, 20), (100, 30), (300, 30), (800, 80), (5000, 100)
  )
  def test_count(self, num_examples, expected):
    x = np.random.default_rng(0).normal(size=(num_examples, 120))
    found = components_lib.find(
      components_lib.measure(tf.constant(x, tf.float32))
    )
    self.assertEqual(np.count_nonzero(found.variances), expected)
    # A regression uses all that its examples have.
    every = components_lib.find(
      components_lib.measure(tf.constant(x, tf.float32)), lambda count: count
    )
    self.assertLen(every.variances, 100)
    self.assertEqual(
      np.count_nonzero(every.variances > 1e-6), min(num_examples - 1, 100)
    )


if __name__ == '__main__':
  absltest.main()
