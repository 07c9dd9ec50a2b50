# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what clients send to compare learners."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import client_sums
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.models import functional


def _compute(x, head, leader=0, bias=0.0):
  num_components, num_classes = x.shape[1], head.shape[2]
  teacher = head.copy()
  teacher[:, -1] += bias
  received = client_sums.Received(
    center=np.zeros(num_components),
    basis=np.eye(num_components),
    variances=np.ones(num_components),
    teacher=teacher,
    # Clients have no class shares of their own.
    alpha=np.full([state.LEARNERS, num_classes], 1e6),
    means=np.zeros([state.LEARNERS, num_components, num_classes]),
    spread=np.zeros(state.LEARNERS),
    head=head,
    is_trained=np.ones(state.LEARNERS),
    leader=leader,
  )
  received = tf.nest.map_structure(
    lambda each: tf.constant(each, tf.float32), received
  )
  return client_sums.compute(tf.constant(x, tf.float32), received)[0]


class AlikeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    draw = np.random.default_rng(0).normal
    self.x = draw(size=(50, 4))
    self.head = draw(size=(state.LEARNERS, 5, 3))

  def test_pairs_of_learners_that_label_alike_are_counted(self):
    means = _compute(self.x, self.head)
    labels = (numpy_reference.ones(self.x) @ self.head).argmax(axis=-1)
    second = labels[server_labels.REPLICAS :]
    for leader, replica in ((0, 0), (6, 0), (9, 3)):
      self.assertAlmostEqual(
        float(_compute(self.x, self.head, leader).agreement),
        np.mean(labels[0] == second[replica]),
        places=6,
      )
    expected = [
      np.mean(
        [np.mean(one == other) for j, other in enumerate(second) if j != i]
      )
      for i, one in enumerate(second)
    ]
    np.testing.assert_allclose(means.consensus, expected, atol=1e-6)

  def test_is_0_without_examples(self):
    means = _compute(self.x[:0], self.head)
    np.testing.assert_array_equal(means.consensus, np.zeros(6))
    self.assertEqual(means.agreement, 0)

  def test_objectives_do_not_depend_on_a_constant_added_to_biases(self):
    start = state.start(functional.ModelWeights((), ()), 4, 3).estimate
    found = []
    for constant in (0.0, 3.0):
      means = _compute(self.x, self.head, bias=constant)
      averages = server_steps.add(
        start._replace(bias=start.bias + constant),
        tf.nest.map_structure(lambda each: tf.cast(each, tf.float64), means),
        50.0,
      ).averages
      found.append(averages.objective)
    np.testing.assert_allclose(*found, atol=1e-5)


if __name__ == '__main__':
  absltest.main()
