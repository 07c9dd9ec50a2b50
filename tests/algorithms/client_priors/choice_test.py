# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of a classifier by held-out labels."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.models import functional


def _one_hot(labels):
  return tf.one_hot(labels, max(labels) + 1, dtype=tf.float64)


class ScoresTest(parameterized.TestCase):
  def test_right_likelihood_and_temperature_are_of_labels_held_out(self):
    generator = np.random.default_rng(0)
    labels = np.append(np.arange(24) % 3, 3)  # Class 3 is never held out.
    logits = generator.normal(size=(3, server_labels.REPLICAS, 25, 4))
    logits[1] += 3 * np.eye(4)[labels]
    scores = choice.score(tf.constant(logits), _one_hot(labels))
    self.assertEqual(scores.num_held_out, 24)
    fold = numpy_reference.fold_of(labels)[:24]
    found = logits[:, fold + 1, np.arange(24)]
    right = found.argmax(axis=-1) == labels[:24]
    np.testing.assert_array_equal(scores.num_right, right.sum(axis=1))
    temperatures = np.geomspace(0.05, 20, 61)
    tempered = np.stack(
      [
        special.log_softmax(found / temperature, axis=-1)[
          :, np.arange(24), labels[:24]
        ]
        for temperature in temperatures
      ]
    )
    np.testing.assert_allclose(
      scores.likelihood, tempered.mean(axis=-1).max(axis=0)
    )
    prior = -0.5 * ((np.log(temperatures) + 0.3) / 0.3) ** 2
    np.testing.assert_allclose(
      scores.temperature,
      temperatures[(tempered.sum(axis=-1) + prior[:, None]).argmax(axis=0)],
    )

  @parameterized.parameters(
    # The mixture, unless worse by more than a standard error: one wrong label
    # of 20 is more than sqrt(0.95).
    ('good', 'good', 'good', {}, 1),
    ('good', 'one_wrong', 'good', {}, 0),
    ('good', 'many_wrong', 'one_wrong', {}, 0),
    # The head, if its likelihood is higher than both others.
    ('many_wrong', 'good', 'good', {}, 1),
    ('many_wrong', 'one_wrong', 'good', {}, 2),
    ('many_wrong', 'many_wrong', 'good', {}, 2),
    # Or if clients differ and have the labels' class shares on average.
    ('good', 'good', 'good', {'share_gap': 0.08}, 2),
    ('good', 'good', 'one_wrong', {'share_gap': 0.08}, 1),
    ('good', 'good', 'good', {'share_gap': 0.08, 'clients_differ': False}, 1),
    # Not if clients have other class shares.
    ('many_wrong', 'one_wrong', 'good', {'share_gap': 0.26}, 1),
    # With few labels, if clients differ and have the labels' class shares.
    ('good', 'good', 'good', {'has_choice': False}, 2),
    ('good', 'good', 'good', {'has_choice': False, 'share_gap': 0.26}, 0),
    (
      'good',
      'good',
      'good',
      {'has_choice': False, 'clients_differ': False},
      0,
    ),
  )
  def test_best(self, alone, mixture, head, changes, expected):
    labels = np.arange(20) % 2
    signs = {'good': np.ones(20), 'one_wrong': np.ones(20)}
    signs['many_wrong'] = np.where(np.arange(20) < 8, -1, 1)
    signs['one_wrong'][0] = -1
    logits = [
      np.tile(
        2 * np.eye(2)[labels] * signs[name][:, None],
        (server_labels.REPLICAS, 1, 1),
      )
      for name in (alone, mixture, head)
    ]
    scores = choice.score(tf.constant(np.stack(logits)), _one_hot(labels))
    found = dict(has_choice=True, clients_differ=True, share_gap=0.1)
    best = choice.find_best(scores, **(found | changes))
    self.assertEqual(best, expected)


def _choose(changes, keep):
  """Draws weights, and chooses; `changes` are of labels and estimates."""
  labels = np.arange(changes.get('labels', 12)) % 3
  gap = changes.get('gap', 0.2)
  draw = np.random.default_rng(0).normal
  start = state.start(functional.ModelWeights((), ()), 4, 3)
  estimate = start.estimate
  learners = estimate.strength.shape[0]
  estimate = estimate._replace(
    passes=changes.get('passes', server_steps.PASSES),
    leader=changes.get('leader', 0),
    strength=np.repeat([3.0, 4.0], learners // 2),
    # Moved by a sixth of the difference between the mixture and the labels.
    shares=np.full([learners, 3], 1 / 3 + np.array([gap, 0, -gap]) / 6),
    bias=draw(size=[learners, 3]),
    head=draw(size=[learners, 5, 3]),
    taught=draw(size=estimate.taught.shape),
    spread=np.full(estimate.spread.shape, changes.get('spread', 0.0)),
    averages=estimate.averages._replace(
      evidence=np.full([learners], changes.get('evidence', 1.0)),
      agreement=changes.get('agreement', 0.0),
    ),
  )
  components = components_lib.Components(
    *map(tf.constant, (draw(size=4), draw(size=[4, 4]), np.ones(4), 100.0))
  )
  components = tf.nest.map_structure(
    lambda each: tf.cast(each, tf.float64), components
  )
  raw, targets = draw(size=[len(labels), 4]), _one_hot(labels)
  x = components_lib.project(raw, components)
  chosen = choice.choose(
    server_labels.Fitted(draw(size=[6, 5, 3]), False),
    components,
    estimate,
    tf.constant(raw),
    server_labels.Labels(x, targets, server_labels.weigh(targets)),
    keep,
  )
  return chosen, estimate, raw, numpy_reference.ones(x)


class LabelerTest(parameterized.TestCase):
  @parameterized.parameters(
    # With class biases: the learner that leads.
    ('head', {}, 3.0),
    ('head', {'leader': server_labels.REPLICAS}, 4.0),
    ('head', {'leader': server_labels.REPLICAS + 2}, 4.0),
    ('mixture', {}, 3.0),
    # Without class shares of clients if clients are alike, or images differ.
    ('labels_alone', {'evidence': 0.01}, 1e6),
    # With too few labels to choose.
    ('labels_alone', {'labels': 9}, 3.0),
    ('head', {'spread': 0.03}, 1e6),
    ('head', {'spread': 0.03, 'agreement': 0.9}, 3.0),
  )
  def test_is_what_is_exported_or_the_head_with_its_biases(
    self, keep, changes, strength
  ):
    chosen, estimate, raw, x = _choose(changes, keep)
    padded = numpy_reference.ones(raw)
    logits = padded @ chosen.weights.numpy() - np.log(1 / 3)
    shares = np.full(3, 1 / 3)
    if keep == 'head':
      shares = estimate.shares[0]
      leader = estimate.leader
      logits = x @ estimate.head[leader] - np.log(shares)
      if leader:
        exported = chosen.temperature * (padded @ chosen.weights.numpy())
        np.testing.assert_allclose(exported, logits + np.log(1 / 3))
      logits += estimate.bias[leader]
    np.testing.assert_allclose(padded @ chosen.labeler.weights, logits)
    np.testing.assert_allclose(chosen.labeler.alpha, strength * shares)
    num_right = chosen.scores.num_right[chosen.kept]
    self.assertEqual(
      chosen.labeler.num_right, 10 if len(raw) == 9 else num_right
    )


class ChoiceTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], True),
    ([0, 0, 1, 1, 2, 2, 0, 0, 1], False),
    ([0, 0, 1, 1, 2, 0, 0, 1, 1, 0], False),
    # A class with one label is not held out.
    ([0, 0, 1, 1, 2, 0, 0, 1, 1, 0, 1], True),
  )
  def test_can_choose(self, labels, expected):
    self.assertEqual(choice.can_choose(_one_hot(labels)), expected)

  @parameterized.parameters(
    ({}, 'head'),
    # Clients are alike, or have other class shares than the labels.
    ({'evidence': 0.01}, 'labels_alone'),
    ({'gap': 0.26}, 'labels_alone'),
    # Images differ between clients; learners that agree are believed.
    ({'spread': 0.03}, 'labels_alone'),
    ({'spread': 0.03, 'agreement': 0.9}, 'head'),
    # Training has not ended: clients' shares may change, learners have not
    # agreed yet.
    ({'passes': 39}, 'labels_alone'),
    ({'spread': 0.03, 'agreement': 0.9, 'passes': 39}, 'labels_alone'),
  )
  def test_with_few_labels_the_head_is_exported_if_clients_differ(
    self, changes, expected
  ):
    chosen, *_ = _choose(changes | {'labels': 9}, choice.CHOSEN)
    np.testing.assert_allclose(chosen.share_gap, changes.get('gap', 0.2))
    self.assertEqual(choice.CANDIDATES[int(chosen.kept)], expected)

  @parameterized.parameters(
    (0.005, 1.0, 0.8, False),
    (0.006, 1.0, 0.8, True),
    (0.006, -1.0, 0.8, False),
    (0.03, -1.0, 0.8, True),
    # Two learners that agree are believed.
    (0.03, 1.0, 0.95, False),
  )
  def test_images_differ(self, spread, server_spread, agreement, expected):
    self.assertEqual(
      choice.images_differ(spread, server_spread, agreement), expected
    )


if __name__ == '__main__':
  absltest.main()
