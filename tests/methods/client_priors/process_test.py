# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of client priors on features: types, and whole runs against NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests import simulation_test_case
from tests.methods.client_priors import numpy_reference
from tff_semifl.aggregation import aggregators
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.methods.client_priors import process as process_lib
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.models import functional
from tff_semifl.models import linear
from tff_semifl.privacy import privacy_key

_CLASSES, _FEATURES, _CLIENTS, _EXAMPLES = 3, 5, 4, 40
_GENERATOR = np.random.default_rng(0)
_CENTERS = 1.5 * _GENERATOR.normal(size=(_CLASSES, _FEATURES))


def _draw(labels):
  noise = _GENERATOR.normal(size=(len(labels), _FEATURES))
  return (_CENTERS[labels] + noise + 3).astype(np.float32)


_LABELS = np.arange(6) % _CLASSES
_SERVER = sources.LabeledImages(_draw(_LABELS), _LABELS.astype(np.int32))
# Each client has one class more often than the others.
_CLIENT_LABELS = [
  _GENERATOR.choice(_CLASSES, _EXAMPLES, p=np.roll([0.8, 0.1, 0.1], client))
  for client in range(_CLIENTS)
]
_CLIENT_FEATURES = list(map(_draw, _CLIENT_LABELS))


def _build(factory=None, **kwargs):
  model = linear.create_linear(
    (_FEATURES,),
    _CLASSES,
    mean=(1.0, 2.0, 3.0, 4.0, 5.0),
    standard_deviation=(1.0, 2.0, 0.5, 1.0, 3.0),
  )
  classifier = functional.from_keras(model)
  return classifier, process_lib.build(
    classifier, factory or aggregators.build_mean(), **kwargs
  )


def _clients(*indices):
  return [
    tf.data.Dataset.from_tensors(
      dict(client_id=np.int32(i), image=_CLIENT_FEATURES[i])
    )
    for i in indices
  ]


def _to_log_probabilities(logits):
  return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


class ProcessTest(simulation_test_case.SimulationTestCase):
  def _run(self, process, cohorts):
    server = pipelines.labeled_dataset(_SERVER)
    state = process.initialize()
    for round_num, cohort in enumerate(cohorts):
      if round_num == 1:
        state = process.prepare(state, server, _clients(*range(_CLIENTS)))
      output = process.next(state, server, _clients(*cohort))
      state = output.state
    return output

  def _assert_equal_to_numpy(
    self, classifier, state, predict, test, tolerance=2e-3
  ):
    logits = classifier.logits(
      state.global_model_weights, test.astype(np.float32)
    )
    np.testing.assert_allclose(
      _to_log_probabilities(logits.numpy()),
      _to_log_probabilities(predict(test)),
      rtol=tolerance,
      atol=tolerance,
    )

  def test_types(self):
    _, process = _build()
    state_type = process.initialize.type_signature.result
    self.assertEqual(state_type.placement, tff.SERVER)
    next_type = process.next.type_signature
    self.assertTrue(
      state_type.is_assignable_from(next_type.result.state), next_type
    )
    prepare_type = process.prepare.type_signature
    self.assertTrue(state_type.is_assignable_from(prepare_type.result))
    self.assertEqual(
      str(next_type.parameter.client_data),
      '{<client_id=int32,image=float32[?,5]>*}@CLIENTS',
    )

  def test_all_rounds_equal_numpy_and_tell_more_than_labels(self):
    classifier, process = _build(returns_given_labels=True)
    output = self._run(process, [[], *[range(_CLIENTS)] * server_steps.PASSES])
    expected, predict = numpy_reference.run(
      _SERVER.images.astype(np.float64),
      np.eye(_CLASSES)[_LABELS],
      [each.astype(np.float64) for each in _CLIENT_FEATURES],
    )
    found = output.state.estimate
    test_labels = np.arange(3000) % _CLASSES
    test = _draw(test_labels).astype(np.float64)
    components = numpy_reference.ones(test) @ output.state.components.projection
    # They differ by the rounding of clients' float32 numbers, which grows.
    np.testing.assert_allclose(
      _to_log_probabilities(components @ found.mixture),
      _to_log_probabilities(
        numpy_reference.ones(expected['project'](test)) @ expected['mixture']
      ),
      rtol=1e-3,
      atol=1e-3,
    )
    np.testing.assert_allclose(found.strength, expected['s'], rtol=1e-2)
    self._assert_equal_to_numpy(
      classifier, output.state, predict, test, tolerance=3e-2
    )
    self.assertGreater(
      np.mean(predict(test).argmax(axis=1) == test_labels),
      np.mean(
        (
          numpy_reference.ones(expected['project'](test))
          @ expected['labels_alone']
        ).argmax(axis=1)
        == test_labels
      ),
    )
    given = np.concatenate([each.label for each in output.given_labels])
    posteriors = predict(np.concatenate(_CLIENT_FEATURES).astype(np.float64))
    # Class shares of clients tell more than the classifier.
    truth = np.concatenate(_CLIENT_LABELS)
    self.assertGreater(
      np.mean(given == truth), np.mean(posteriors.argmax(axis=1) == truth)
    )

  def test_round_0_is_labels_alone(self):
    classifier, process = _build()
    output = self._run(process, [[]])
    x = _SERVER.images.astype(np.float64)
    mean, basis, _ = numpy_reference.server_basis(
      numpy_reference.client_moments(x)
    )
    weights, _ = numpy_reference.labels_alone(
      (x - mean) @ basis, np.eye(_CLASSES)[_LABELS]
    )
    self._assert_equal_to_numpy(
      classifier,
      output.state,
      lambda raw: numpy_reference.ones((raw - mean) @ basis) @ weights,
      _draw(np.arange(30) % _CLASSES).astype(np.float64),
    )

  @pytest.mark.slow
  def test_half_of_the_clients_in_each_round(self):
    classifier, process = _build(clients_per_round=2)
    halves = [[0, 1], [2, 3]] * server_steps.PASSES
    output = self._run(process, [[], *halves])
    self.assertEqual(output.state.estimate.passes, server_steps.PASSES)
    test_labels = np.arange(3000) % _CLASSES
    logits = classifier.logits(
      output.state.global_model_weights, _draw(test_labels)
    )
    best = np.mean(
      np.argmax(
        -np.sum((_draw(test_labels)[:, None] - 3 - _CENTERS) ** 2, axis=-1),
        axis=1,
      )
      == test_labels
    )
    self.assertGreater(
      np.mean(np.argmax(logits, axis=1) == test_labels), best - 0.05
    )

  def test_round_without_clients_changes_nothing_but_its_number(self):
    _, process = _build()
    before = self._run(process, [[], [0, 1, 2, 3]]).state
    after = self._run(process, [[], [0, 1, 2, 3], []]).state
    tf.nest.map_structure(
      np.testing.assert_array_equal, before.estimate, after.estimate
    )
    self.assertEqual(after.round_num, before.round_num + 1)

  def test_clients_that_count_for_nothing(self):
    _, process = _build()
    server = pipelines.labeled_dataset(_SERVER)
    states = []
    for features in (
      None,
      np.zeros([0, _FEATURES], np.float32),
      np.full([2, _FEATURES], np.nan, np.float32),
    ):
      clients = _clients(0, 1)
      if features is not None:
        clients.append(
          tf.data.Dataset.from_tensors(
            dict(client_id=np.int32(4), image=features)
          )
        )
      state = process.next(process.initialize(), server, []).state
      state = process.prepare(state, server, _clients(0, 1, 2, 3))
      output = process.next(state, server, clients)
      states.append(output.state.estimate)
    self.assertEqual(output.metrics['client']['num_rejected'], 1)
    for other in states[1:]:
      tf.nest.map_structure(np.testing.assert_array_equal, states[0], other)


class OtherAggregatorsTest(
  simulation_test_case.SimulationTestCase, parameterized.TestCase
):
  def test_noise_is_added_to_all_that_is_learned(self):
    key = privacy_key.PrivacyKey.draw()
    results = []
    for noise in (1e-6, 0.01):
      factory = aggregators.build_private_mean(
        noise_multiplier=noise,
        clipping_norm=100.0,
        clients_per_round=_CLIENTS,
        key=key,
      )
      _, process = _build(factory, clients_give_components=False)
      server = pipelines.labeled_dataset(_SERVER)
      state = process.next(process.initialize(), server, []).state
      state = process.prepare(state, server, _clients(0, 1, 2, 3))
      state = process.next(state, server, _clients(0, 1, 2, 3)).state
      results.append(state.estimate.averages)
    exact, noisy = map(tf.nest.flatten, results)
    for one, other in zip(exact, noisy, strict=True):
      self.assertGreater(np.min(np.abs(one - other)), 0)


if __name__ == '__main__':
  absltest.main()
