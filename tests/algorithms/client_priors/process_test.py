# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the process of `client_priors`: types, and runs against NumPy."""

import functools

from absl.testing import absltest
import numpy as np
from scipy import special
import tensorflow as tf

from tests import simulation_test_case
from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import process as process_lib
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import features as feature_models
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means

_CLASSES, _FEATURES, _CLIENTS, _EXAMPLES = 3, 5, 4, 40
_GENERATOR = np.random.default_rng(0)
_CENTERS = 1.5 * _GENERATOR.normal(size=(_CLASSES, _FEATURES))


def _draw(labels):
  noise = _GENERATOR.normal(size=(len(labels), _FEATURES))
  return (_CENTERS[labels] + noise + 3).astype(np.float32)


_LABELS = np.arange(12) % _CLASSES
_SERVER = sources.LabeledImages(_draw(_LABELS), _LABELS.astype(np.int32))
# Each client has one class more often than the others.
_CLIENT_LABELS = [
  _GENERATOR.choice(_CLASSES, _EXAMPLES, p=np.roll([0.8, 0.1, 0.1], client))
  for client in range(_CLIENTS)
]
_CLIENT_FEATURES = list(map(_draw, _CLIENT_LABELS))


@functools.cache
def _build(aggregator=None, **options):
  model = feature_models.create_linear(
    (_FEATURES,),
    _CLASSES,
    mean=(1.0, 2.0, 3.0, 4.0, 5.0),
    standard_deviation=(1.0, 2.0, 0.5, 1.0, 3.0),
  )
  classifier = functional.from_keras(model)
  return classifier, process_lib.build(
    classifier, (aggregator or aggregators.Mean()).build(), **options
  )


def _clients(*indices):
  return [
    tf.data.Dataset.from_tensors(
      dict(client_id=np.int32(i), image=_CLIENT_FEATURES[i])
    )
    for i in indices
  ]


class ProcessTest(simulation_test_case.SimulationTestCase):
  def _run(self, process, cohorts):
    """The outputs of rounds, beginning with round 0 without clients."""
    server = pipelines.labeled_dataset(_SERVER)
    outputs = [process.next(process.initialize(), server, [])]
    (prepare,) = process.preparations
    state = prepare(outputs[0].state, server, _clients(*range(_CLIENTS)))
    for cohort in cohorts:
      outputs.append(process.next(state, server, _clients(*cohort)))
      state = outputs[-1].state
    return outputs

  def test_all_rounds_equal_numpy_and_tell_more_than_labels(self):
    classifier, process = _build(returns_given_labels=True, keep='head')
    outputs = self._run(process, [range(_CLIENTS)] * server_steps.PASSES)
    output = outputs[-1]
    state = output.state
    # The chosen classifier is exported from the first pass on.
    self.assertEqual(
      [each.metrics['client']['kept'] for each in outputs],
      [0] + [2] * server_steps.PASSES,
    )
    clients = [each.astype(np.float64) for each in _CLIENT_FEATURES]
    mean, basis, variances = numpy_reference.find_basis(
      clients, _FEATURES, bool(state.alone.standardizes)
    )
    expected, spread, strength, agreement = numpy_reference.run_replica(
      (_SERVER.images - mean) @ basis,
      np.eye(_CLASSES)[_LABELS],
      np.ones(len(_LABELS)),
      [(each - mean) @ basis for each in clients],
      variances,
    )
    test_labels = np.arange(3000) % _CLASSES
    test = _draw(test_labels)
    found = server_steps.classifiers(
      state.estimate, tf.fill([_CLASSES], tf.constant(1 / 3, tf.float64))
    )[:, 0].numpy()
    components = components_lib.project(tf.constant(test), state.components)
    # Clients' float32 numbers are rounded, and the difference grows with
    # rounds.
    second = state.estimate.head[server_labels.REPLICAS]
    for ours, theirs in zip([*found, second], expected, strict=True):
      np.testing.assert_allclose(
        special.softmax(numpy_reference.ones(components) @ ours, axis=1),
        special.softmax(
          numpy_reference.ones((test - mean) @ basis) @ theirs, axis=1
        ),
        atol=2e-3,
      )
    np.testing.assert_allclose(state.estimate.spread[0], spread, atol=1e-4)
    np.testing.assert_allclose(
      state.estimate.strength[server_labels.REPLICAS], strength, rtol=1e-2
    )
    # The exported classifier has these logits, divided by a temperature.
    own = output.metrics['client']
    np.testing.assert_allclose(own['agreement'], agreement, atol=2e-3)
    logits = classifier.logits(state.global_model_weights, test)
    np.testing.assert_allclose(
      special.softmax(logits * own['temperature'], axis=1),
      special.softmax(numpy_reference.ones(components) @ found[1], axis=1),
      atol=1e-3,
    )
    alone = state.alone.weights[0]
    self.assertGreater(
      np.mean(np.argmax(logits, axis=1) == test_labels),
      np.mean(
        np.argmax(numpy_reference.ones(test) @ alone, axis=1) == test_labels
      ),
    )
    given = np.concatenate([each.label for each in output.given_labels])
    pooled = np.concatenate(_CLIENT_FEATURES)
    truth = np.concatenate(_CLIENT_LABELS)
    self.assertGreater(
      np.mean(given == truth),
      np.mean(np.argmax(numpy_reference.ones(pooled) @ alone, axis=1) == truth),
    )

  def test_round_0_is_labels_alone(self):
    classifier, process = _build()
    (output,) = self._run(process, [])
    state = output.state
    fitted = server_labels.fit(
      tf.constant(_SERVER.images, tf.float64),
      tf.one_hot(_LABELS, _CLASSES, dtype=tf.float64),
    )
    test = _draw(np.arange(30) % _CLASSES)
    logits = classifier.logits(state.global_model_weights, test).numpy()
    expected = numpy_reference.ones(test) @ fitted.weights[0].numpy()
    ratio = np.ptp(expected, axis=1) / np.ptp(logits, axis=1)
    # Equal except for one temperature.
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)
    np.testing.assert_array_equal(
      logits.argmax(axis=1), expected.argmax(axis=1)
    )
    self.assertEqual(output.metrics['client']['kept'], 0)

  def test_round_without_clients_changes_nothing_but_its_number(self):
    _, process = _build()
    outputs = self._run(process, [[0, 1, 2, 3], []])
    _, before, after = (output.state for output in outputs)
    for name in ('evidence', 'objective'):
      self.assertEqual(
        [np.isnan(each.metrics['client'][name]) for each in outputs],
        [True, False, True],
      )
    tf.nest.map_structure(
      np.testing.assert_array_equal, before.estimate, after.estimate
    )
    self.assertEqual(after.round_num, before.round_num + 1)

  def test_clients_have_enough_examples(self):
    """Clients have two examples for each of the server's twelve labels."""
    _, process = _build()
    server = pipelines.labeled_dataset(_SERVER)
    start = process.next(process.initialize(), server, []).state
    for number in (23, 24):
      clients = [
        tf.data.Dataset.from_tensors(
          dict(client_id=np.int32(0), image=_CLIENT_FEATURES[0][:number])
        )
      ]
      state = process.preparations[0](start, server, clients)
      measured = process.next(state, server, clients).metrics['client']
      self.assertEqual(measured['has_examples'], number == 24)

  def test_clients_that_count_for_nothing(self):
    _, process = _build()
    server = pipelines.labeled_dataset(_SERVER)
    state = process.next(process.initialize(), server, []).state
    state = process.preparations[0](state, server, _clients(0, 1, 2, 3))
    estimates = []
    for features in (
      None,
      np.zeros([0, _FEATURES], np.float32),
      np.full([2, _FEATURES], np.nan, np.float32),
      np.full([2, _FEATURES], 1e20, np.float32),
    ):
      clients = _clients(0, 1)
      if features is not None:
        clients.append(
          tf.data.Dataset.from_tensors(
            dict(client_id=np.int32(4), image=features)
          )
        )
      output = process.next(state, server, clients)
      estimates.append(output.state.estimate)
    self.assertEqual(output.metrics['client']['num_rejected'], 1)
    for other in estimates[1:]:
      tf.nest.map_structure(np.testing.assert_array_equal, estimates[0], other)

  def test_cohorts_of_half_of_the_clients(self):
    """Uses an aggregator whose estimates change even without clients."""
    _, process = _build(means.RobustMean(), clients_per_round=2)
    first, second, third = (
      output.state for output in self._run(process, [[0, 1], [2, 3]])
    )
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      process.initialize().aggregator,
      first.aggregator,
    )
    # The server takes a step once all clients have taken part.
    self.assertEqual(second.estimate.passes, 0)
    self.assertEqual(second.estimate.num_averaged, 2 * _EXAMPLES)
    self.assertEqual(third.estimate.passes, 1)


if __name__ == '__main__':
  absltest.main()
