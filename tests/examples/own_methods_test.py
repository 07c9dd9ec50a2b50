# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the example methods and the example aggregator."""

import dataclasses

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from examples import ema_teacher
from examples import fed_adam
from examples import fed_prox
from examples import median
from examples import prototypes
from tests import client_updates
from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import pseudo_labels

_COHORTS = ([], [0, 2], [1, 2])


class _Problem(simulation_test_case.SimulationTestCase):
  def _train(self, client, **changes):
    """Trains for three rounds; returns the state."""
    problem = linear_problem.LinearProblem()
    system = settings.change(
      averaging.Alternating(client=client),
      {**linear_problem.SETTINGS, **changes},
    )
    process = system.build(
      small_systems.create_ingredients(seed=linear_problem.SEED)
    )
    state = process.initialize()
    for cohort in _COHORTS:
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
    return state

  def _weights(self, client, **changes):
    return self._train(client, **changes).global_model_weights.trainable


class FedProxTest(_Problem):
  def test_weight_keeps_clients_near(self):
    # Clients train on all images, and the server does not train.
    initial = linear_reference.create_classifier().initial_weights.trainable[0]
    near, far = (
      np.linalg.norm(
        self._weights(
          fed_prox.FedProx(proximal_weight=weight),
          server_epochs=0.0,
          confidence_threshold=0.01,
        )[0]
        - initial
      )
      for weight in (1.0, 0.0)
    )
    self.assertBetween(near, 1e-4, 0.95 * far)


class FedAdamTest(_Problem):
  def test_rounds_equal_numpy(self):
    """Two rounds with clients, and a learning rate of the server's own."""
    problem = linear_problem.LinearProblem()
    rate, beta_1, beta_2, epsilon = 0.05, 0.8, 0.99, 1e-3
    changes = {
      'global_momentum': beta_1,
      'global_learning_rate': rate,
      'server_learning_rate': 0.1,
    }
    process = settings.change(
      fed_adam.FED_ADAM, {**linear_problem.SETTINGS, **changes}
    ).build(small_systems.create_ingredients(seed=linear_problem.SEED))
    means, squares = [0.0, 0.0], [0.0, 0.0]
    for round_num, cohort, federation, _ in linear_problem.follow(
      process, ([], [0, 2], [1, 2])
    ):
      sgd = federation.sgd
      trained = [
        problem.train_client(
          fix_mix_reference.train_client,
          sgd.weights,
          client_id,
          round_num,
          threshold=linear_problem.THRESHOLD,
          mix_loss_weight=1.0,
        )
        for client_id in cohort
      ]
      updates = [each.weights for each in trained if each.num_confident]
      self.assertEqual(bool(updates), round_num > 0)
      for index, weight in enumerate(sgd.weights if updates else ()):
        gradient = weight - np.mean([each[index] for each in updates], axis=0)
        means[index] = beta_1 * means[index] + (1 - beta_1) * gradient
        squares[index] = beta_2 * squares[index] + (1 - beta_2) * gradient**2
        corrected = (
          rate * np.sqrt(1 - beta_2**round_num) / (1 - beta_1**round_num)
        )
        step = means[index] / (np.sqrt(squares[index]) + epsilon)
        sgd.weights[index] = weight - corrected * step
      # A third of the clients' rate, with the same schedule.
      problem.train_server(sgd, round_num, rate_factor=0.1 / 0.3)


class EMATeacherTest(_Problem):
  def test_teacher_that_forgets_is_the_model_itself(self):
    model, forgetful = (
      self._weights(client)
      for client in (
        fix_mix.LabelEachBatch(),
        ema_teacher.EMATeacher(teacher_decay=0.0),
      )
    )
    for found, expected in zip(forgetful, model, strict=True):
      np.testing.assert_array_equal(found, expected)

  def test_moves_by_a_share(self):
    method = ema_teacher.EMATeacher(teacher_decay=0.75)
    (teacher,) = method.after_step((tf.constant(4.0),), (tf.constant(8.0),))
    self.assertEqual(teacher, 5.0)


class PrototypesTest(_Problem):
  def test_selects_what_is_near_the_prototype_of_its_label(self):
    # Three images: one at each prototype, one between both.
    features = np.float32([[0, 0], [4, 0], [0, 4], [3, 0]])
    labels = pseudo_labels.complete(tf.constant([0, 1, 2, 2]), 3)
    guidance = {
      'sums': tf.constant([[0.0, 0.0], [8.0, 0.0], [0.0, 4.0]]),
      'counts': tf.constant([5.0, 2.0, 1.0]),
    }
    method = prototypes.PrototypeFixMix()

    def select(guidance):
      client = client_updates.of_labels(guidance=guidance, logits=features)
      return method.select(client, labels)

    np.testing.assert_array_equal(select(guidance), [True, True, True, False])
    # The method waits until each class has a prototype.
    guidance['counts'] = tf.constant([5.0, 0.0, 1.0])
    np.testing.assert_array_equal(select(guidance), [True] * 4)

  def test_reports_sums_of_features(self):
    features = np.float32([[1, 2], [3, 4], [5, 6]])
    labels = pseudo_labels.complete(tf.constant([2, 0, 2]), 3)
    sums = prototypes.PrototypeFixMix().report(
      client_updates.of_labels(labels, logits=features), ()
    )
    np.testing.assert_allclose(sums['sums'], [[3, 4], [0, 0], [6, 8]])
    np.testing.assert_array_equal(sums['counts'], [1, 0, 2])

  def test_server_keeps_prototypes_of_the_last_round(self):
    kept = self._train(prototypes.PrototypeFixMix()).guidance['method']
    # The features of a linear model are pixels; each class has three images.
    self.assertEqual(kept['sums'].shape, (3, 4))
    problem = linear_problem.LinearProblem()
    num_images = sum(len(problem.clients[each][1]) for each in _COHORTS[-1])
    self.assertLessEqual(kept['counts'].sum(), num_images + 3 * 7)
    self.assertGreater(kept['counts'].sum(), 0)


class MedianTest(_Problem):
  def test_is_numpys(self):
    generator = np.random.default_rng(0)
    for number in (1, 2, 3, 6):
      values = generator.normal(size=(number, 2, 3)).astype(np.float32)
      np.testing.assert_allclose(
        median.median(tf.constant(values)), np.median(values, axis=0), rtol=1e-6
      )
    np.testing.assert_array_equal(median.median(tf.zeros([0, 2])), [0, 0])

  def test_liar_does_not_move_it(self):
    aggregator = median.MEDIAN.create(
      linear_reference.create_classifier().weights_type.trainable
    )
    updates = [
      (np.full([4, 3], value, np.float32), np.full([3], -value, np.float32))
      for value in (1.0, 2.0, 1e6)
    ]
    result = aggregator.next(aggregator.initialize(), updates).result
    np.testing.assert_array_equal(result[0], np.full([4, 3], 2.0))
    np.testing.assert_array_equal(result[1], np.full([3], -2.0))

  def test_is_named_on_the_command_line(self):
    aggregator = settings.change(
      averaging.Alternating(client=fix_mix.FixMix()),
      {'aggregator': 'examples.median:MEDIAN'},
    ).averaging.aggregator
    self.assertIs(aggregator.factory, median.MEDIAN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _PlainMean(fix_mix.FixMix):
  """A loss that is a mean over all rows, with padding."""

  def loss(self, step, state):
    logits = step.logits(step.strong)
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(step.labels.labels, logits)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _StepMean(fix_mix.FixMix):
  """A loss that is a mean over the images of a step."""

  def loss(self, step, state):
    logits = step.logits(step.strong)
    return step.mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(step.labels.labels, logits)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _BatchMean(fix_mix.LabelEachBatch):
  """A selection by a mean over all rows, with padding."""

  def label(self, client, state):
    labels, _ = super().label(client, state)
    return labels, labels.confidences / tf.reduce_mean(labels.confidences)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Counting(client_parts.Weighting):
  """Weights of clients by the number of images, without padding."""

  def weigh(self, client):
    return tf.cast(client.num_trained_on, tf.float32)


class PaddingTest(parameterized.TestCase):
  def _build(self, client):
    system = settings.change(
      averaging.Alternating(client=client), linear_problem.SETTINGS
    )
    return system.build(small_systems.create_ingredients(jit_compile=True))

  @parameterized.parameters(_PlainMean(), _BatchMean())
  def test_methods_that_train_on_padding_are_refused(self, client):
    with self.assertRaisesRegex(
      settings.SettingError, f'^jit_compile=True: {type(client).__name__} '
    ):
      self._build(client)

  def test_others_are_taken(self):
    self._build(_StepMean(weighting=_Counting()))
