# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of methods whose clients keep a memory, and of models from sums."""

import dataclasses
import functools
from unittest import mock

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from examples import em_prototypes
from examples import fed_dyn
from examples import scaffold
from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tests.core import small_updates
from tests.experiment import linear_program
from tests.experiment import training_test_case
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.experiment import runtimes

# Client 2 takes part in both rounds with clients.
_COHORTS = ([], [2, 0], [1, 2])
_NUM_CLIENTS = 3


def _build(system, *, jit_compile=False, **changes):
  system = settings.change_present(system, linear_problem.SETTINGS)
  return settings.change(system, changes).build(
    small_systems.create_ingredients(
      seed=linear_problem.SEED,
      num_clients=_NUM_CLIENTS,
      jit_compile=jit_compile,
    )
  )


def _array(weights):
  """Arrays of different shapes as elements of an array, to calculate with."""
  array = np.empty(len(weights), object)
  array[:] = [np.asarray(each, np.float64) for each in weights]
  return array


def _flat(memories):
  return [array for memory in memories for array in memory]


def _zeros():
  return _array([np.zeros([4, 3]), np.zeros([3])])


class _SGD(linear_reference.NumpySGD):
  """Steps along gradient + linear + alpha (w - received); counts them."""

  def __init__(self, weights, *arguments, linear, alpha=0.0):
    super().__init__(weights, *arguments)
    self._received, self._linear = [*self.weights], linear
    self._alpha = alpha
    self.num_steps = 0

  def move(self, gradients):
    self.num_steps += 1
    arrays = zip(
      gradients, self._linear, self.weights, self._received, strict=True
    )
    super().move([g + c + self._alpha * (w - x) for g, c, w, x in arrays])


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Counting(fix_mix.FixMix):
  """Keeps numbers by name, in another order after a round."""

  def init_memory(self, model):
    return {'rounds': 0.0, 'images': 0.0}

  def after_round(self, client, state, weights):
    number = tf.cast(tf.shape(client.images)[0], tf.float32)
    return {
      'images': client.memory['images'] + number,
      'rounds': client.memory['rounds'] + 1,
    }


class MemoryTest(simulation_test_case.SimulationTestCase):
  def test_names_may_have_any_order(self):
    problem = linear_problem.LinearProblem()
    process = _build(averaging.Alternating(client=_Counting()))
    state, memory = process.initialize(), process.initialize_memory()
    for _ in range(2):
      state = state._replace(round_num=1)
      output = process.next(
        state, problem.server_data, problem.client_data([2]), [memory]
      )
      state, (memory,) = output.state, output.memories
    self.assertEqual(dict(memory), {'rounds': 2, 'images': 12})

  def _train(self, train, weights, *arguments, **terms):
    """Returns a client's trained weights, and the number of its steps."""
    created = []

    def create(*arguments):
      created.append(_SGD(*arguments, **terms))
      return created[-1]

    with mock.patch.object(linear_reference, 'NumpySGD', create):
      train(weights, *arguments)
    self.assertGreater(created[0].num_steps, 1)
    return _array(created[0].weights), created[0].num_steps

  def _assert_equal(self, found, expected):
    for a, b in zip(found, expected, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)

  def test_scaffold_equals_numpy(self):
    problem = linear_problem.LinearProblem()
    train = functools.partial(
      problem.train_client,
      fix_mix_reference.train_client,
      threshold=linear_problem.THRESHOLD,
      mix_loss_weight=1.0,
    )
    c, own = _zeros(), [_zeros() for _ in range(_NUM_CLIENTS)]
    process = _build(scaffold.SCAFFOLD)
    for number, cohort, federation, output in linear_problem.follow(
      process, _COHORTS
    ):
      rate = linear_problem.learning_rate(number)
      received, trained, old = _array(federation.sgd.weights), [], list(own)
      for k in cohort:
        weights, num_steps = self._train(
          train, received, k, number, linear=c - own[k]
        )
        own[k] = own[k] - c + (received - weights) / num_steps / rate
        trained.append(weights)
      c = c + sum(own[k] - old[k] for k in cohort) / _NUM_CLIENTS
      federation.average(trained)
      problem.train_server(federation.sgd, number)
      self._assert_equal(output.state.guidance['method'], c)
      self._assert_equal(_flat(output.memories), _flat(own[k] for k in cohort))

  @pytest.mark.slow
  def test_fed_dyn_equals_numpy(self):
    problem = linear_problem.LinearProblem()
    h, own = _zeros(), [_zeros() for _ in range(_NUM_CLIENTS)]
    process = _build(fed_dyn.FED_DYN, alpha=0.5)
    # In the last round without clients, the model stays.
    for number, cohort, federation, output in linear_problem.follow(
      process, (*_COHORTS, []), have_labels=True
    ):
      received, trained = _array(federation.sgd.weights), []
      for k in cohort:
        weights, _ = self._train(
          problem.train_on_labels,
          received,
          problem.clients[k][1],
          linear_problem.true_labels(k),
          k,
          number,
          linear=-own[k],
          alpha=0.5,
        )
        own[k] = own[k] - 0.5 * (weights - received)
        h = h - 0.5 * (weights - received) / _NUM_CLIENTS
        trained.append(weights)
      federation.average(trained)
      if cohort:
        federation.sgd.weights = [*(_array(federation.sgd.weights) - h / 0.5)]
      self._assert_equal(output.state.guidance['method'], h)
      self._assert_equal(_flat(output.memories), _flat(own[k] for k in cohort))

  @pytest.mark.slow
  def test_numbers_are_the_same_in_native_runtime_and_with_padding(self):
    problem = linear_problem.LinearProblem()

    def train(process):
      state = process.initialize()._replace(round_num=1)
      memories = [process.initialize_memory()] * 2
      for _ in range(2):
        output = process.next(
          state, problem.server_data, problem.client_data([1, 2]), memories
        )
        state, memories = output.state, output.memories
      return output

    process = _build(scaffold.SCAFFOLD, keep_client_momentum=True)
    expected = train(process)
    with runtimes.native_context():
      native = train(process)
    with small_updates.without_xla():
      padded = train(
        _build(scaffold.SCAFFOLD, keep_client_momentum=True, jit_compile=True)
      )
    self.assertGreater(np.abs(expected.memories[1].of_method[0]).max(), 1e-3)
    for found in (native, padded):
      self._assert_equal(*map(tf.nest.flatten, (found, expected)))


class ResumptionTest(training_test_case.TrainingTestCase):
  @pytest.mark.slow
  def test_resumed_run_equals_one_that_ran_through(self):
    process = _build(scaffold.SCAFFOLD, keep_client_momentum=True)

    def train(folder, total_rounds):
      program = dataclasses.replace(
        linear_program.create_program(total_rounds),
        process=process,
        measures_pseudo_labels=False,
      )
      return self.train(folder, total_rounds, program=program)

    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    expected = train(whole, 3)
    train(cut, 2)
    self.assert_same(train(cut, 3), expected)
    self.assertEqual(self.read_numbers(cut), self.read_numbers(whole))


class SumsTest(simulation_test_case.SimulationTestCase):
  def test_em_equals_numpy(self):
    problem = linear_problem.LinearProblem()
    process = _build(em_prototypes.EM_PROTOTYPES)
    state = process.initialize()
    labeled = problem.images.reshape(5, -1) / 255
    for cohort in _COHORTS:
      weights = state.global_model_weights.trainable
      x, shares = [labeled], [np.eye(3)[problem.labels]]
      for k in cohort:
        images = problem.clients[k][1]
        x.append(images.reshape(len(images), -1) / 255)
        logits = linear_reference.logits(weights, images)
        shares.append(linear_reference.softmax(logits))
      x, shares = np.concatenate(x), np.concatenate(shares)
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
      for array in tf.nest.flatten(state):
        self.assertTrue(np.isfinite(array).all())
      counts = shares.sum(axis=0)
      means = shares.T @ x / counts[:, None]
      distances = ((x[:, None] - means) ** 2).sum(axis=2)
      variance = (shares * distances).sum() / x.size
      # Up to a number that all classes have in common.
      expected = -distances / (2 * variance)
      kernel, bias = state.global_model_weights.trainable
      found = (
        x @ kernel + bias - (x**2).sum(axis=1, keepdims=True) / (2 * variance)
      )
      np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


if __name__ == '__main__':
  absltest.main()
