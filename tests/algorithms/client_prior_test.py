# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of clients' class priors, and of SemiFL with priors, against NumPy."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import client_updates
from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.algorithms.client_priors import numpy_reference
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import client_prior_semifl
from tff_semifl.label_shift import share_prior

_COHORTS = ([], [2, 0], [1, 2], [0, 1])
_PSEUDO_COUNT = 0.5
_ITERATIONS = 3
# The weight of the pseudo-count for 5 labels of 3 classes.
_DEFAULT_WEIGHT = 5**2 / (5**2 + 6**2)


def _count(labels, server_prior):
  """The prior from known classes, with the pseudo-count."""
  counts = np.bincount(labels, minlength=3) + _PSEUDO_COUNT * server_prior
  return counts / (len(labels) + _PSEUDO_COUNT)


@functools.cache
def _build(system_name='client_prior_semifl', **changes):
  return linear_problem.build(
    system_name,
    {'prior_pseudo_count': _PSEUDO_COUNT} | changes,
    returns_given_labels=True,
  )


_UNIFORM = np.full(4, 0.25)
_SKEWED = np.array([0.1, 0.2, 0.3, 0.4])


def _estimate(logits, server_prior=_UNIFORM, pseudo_count=10.0, iterations=20):
  return client_prior.estimate(
    tf.constant(logits, tf.float32),
    tf.constant(server_prior, tf.float32),
    pseudo_count=pseudo_count,
    iterations=iterations,
  ).numpy()


class LabelWeightTest(parameterized.TestCase):
  @parameterized.parameters(
    ([2, 2, 2], 0.5),
    # The result does not depend on the partition.
    ([6, 0, 0], 0.5),
    ([5] * 10, 2500 / 2900),
    ([100] * 10, 2500 / 2501),
    ([0, 0], 0.0),
  )
  def test_grows_with_the_labels_of_a_class(self, counts, expected):
    weight = client_prior.label_weight(tf.constant(counts, tf.float32))
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


class EstimateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(pseudo_count=[0.5, 10.0], iterations=[1, 20])
  def test_equals_numpy(self, pseudo_count, iterations):
    logits = np.random.default_rng(0).normal(scale=2, size=(30, 4))
    self.assertAllClose(
      _estimate(logits, _SKEWED, pseudo_count, iterations),
      numpy_reference.estimate_prior(logits, _SKEWED, pseudo_count, iterations),
      rtol=1e-5,
    )

  def test_no_image_leaves_the_prior_of_the_server(self):
    self.assertAllClose(_estimate(np.zeros([0, 4]), _SKEWED), _SKEWED)

  def test_of_a_model_that_is_always_certain_labels_are_counted(self):
    logits = np.random.default_rng(0).normal(size=(50, 4))
    counts = np.bincount(logits.argmax(axis=1), minlength=4)
    self.assertAllClose(
      _estimate(1e30 * logits, _SKEWED), (counts + 10 * _SKEWED) / 60
    )


class PriorTest(tf.test.TestCase):
  def test_class_without_a_label_is_half_a_label(self):
    found = share_prior.shares_of_counts(tf.constant([2.0, 0.0, 7.5]))
    self.assertAllClose(found, [0.2, 0.05, 0.75])

  def test_adapted_probabilities_follow_from_bayes(self):
    logits = np.random.default_rng(0).normal(size=(5, 4))
    joint = np.exp(logits) * _UNIFORM / _SKEWED
    adapted = client_prior.adapt(
      tf.constant(logits, tf.float32),
      tf.constant(_UNIFORM, tf.float32),
      tf.constant(_SKEWED, tf.float32),
    )
    self.assertAllClose(
      tf.nn.softmax(adapted), joint / joint.sum(axis=1, keepdims=True)
    )

  def test_offset_of_a_class_that_is_hardly_there(self):
    found = client_prior.logit_offset(
      tf.constant([0.99999, 0.00001]), tf.constant([0.5, 0.5])
    )
    # The ratio is limited to 1,000, although the shares give 100,000.
    self.assertAllClose(found[0] - found[1], np.log(1000), atol=1e-4)


class PartsTest(absltest.TestCase):
  def test_other_parts_are_told_their_state_and_label(self):
    client = settings.change(
      client_prior_semifl.ClientPriorFixMix(),
      {'alignment': 'distribution'},
    )
    server = client_updates.create_server(
      linear_problem.LinearProblem().server_data
    )
    self.assertCountEqual(client.guides, ['method', 'alignment'])
    told = {
      name: each.tell(each.init_guidance(server.model), server)
      for name, each in client.guides.items()
    }
    own_guidance = told['method']
    np.testing.assert_allclose(own_guidance['server_prior'], [0.4, 0.4, 0.2])
    told['alignment'] = tf.constant([0.5, 0.25, 0.25])
    logits = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    labels, _ = client.label(
      client_updates.of_labels(
        guidance=own_guidance, part_guidance=told, logits=logits
      ),
      (),
    )
    own = linear_reference.softmax(
      logits
      + np.log(
        _DEFAULT_WEIGHT * labels.prior / own_guidance['server_prior']
        + (1 - _DEFAULT_WEIGHT)
      )
    )
    aligned = own / [0.5, 0.25, 0.25]
    aligned /= aligned.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(labels.unaligned, own, rtol=1e-4)
    np.testing.assert_allclose(labels.probabilities, aligned, rtol=1e-4)


class RoundsTest(simulation_test_case.SimulationTestCase):
  def _count_changed_labels(self, process, prior_fn, steps, have_labels=False):
    """Trains in NumPy too, and counts the labels that the prior changes."""
    problem = linear_problem.LinearProblem()
    # The server has 2, 2 and 1 labels of the three classes.
    server_prior = np.array([0.4, 0.4, 0.2])
    num_changed = num_trained = 0

    def train(received, round_num, client_id):
      def offsets(logits):
        ratio = prior_fn(logits, server_prior, client_id) / server_prior
        return tuple(np.log(step * ratio + 1 - step) for step in steps)

      return problem.train_client(
        fix_mix_reference.train_client,
        received,
        client_id,
        round_num,
        threshold=linear_problem.THRESHOLD,
        mix_loss_weight=1.0,
        offsets_fn=offsets,
      )

    for round_num, cohort, federation, output in linear_problem.follow(
      process, _COHORTS, have_labels=have_labels
    ):
      received = federation.sgd.weights
      updates = [train(received, round_num, client_id) for client_id in cohort]
      federation.average(
        [client.weights for client in updates if client.num_confident]
      )
      problem.train_server(federation.sgd, round_num)
      # Measurements are of the labels in training.
      for given, client, client_id in zip(
        output.given_labels, updates, cohort, strict=True
      ):
        np.testing.assert_array_equal(given.label, client.labels)
        images = problem.clients[client_id][1]
        plain = linear_reference.logits(received, images).argmax(axis=1)
        num_changed += np.count_nonzero(client.labels != plain)
        num_trained += client.num_confident
    self.assertGreater(num_trained, 0)
    return num_changed

  @parameterized.named_parameters(
    ('weight_by_labels', None, _DEFAULT_WEIGHT, True),
    ('a_quarter_of_the_e_step', 0.25, 0.25, False),
  )
  def test_rounds_equal_numpy(self, setting, weight, train_with_prior):
    num_changed = self._count_changed_labels(
      _build(label_prior_weight=setting, train_with_prior=train_with_prior),
      lambda logits, server_prior, _: numpy_reference.estimate_prior(
        logits, server_prior, _PSEUDO_COUNT, _ITERATIONS
      ),
      (weight, float(train_with_prior)),
    )
    # The test is meaningful only if the prior changes some labels.
    self.assertGreater(num_changed, 0)

  def test_rounds_with_the_true_prior_equal_numpy(self):
    num_changed = self._count_changed_labels(
      _build('true_prior_semifl'),
      lambda _, server_prior, client_id: _count(
        linear_problem.true_labels(client_id), server_prior
      ),
      (_DEFAULT_WEIGHT, 1.0),
      have_labels=True,
    )
    self.assertGreater(num_changed, 0)


if __name__ == '__main__':
  absltest.main()
