# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rounds with bad results, absent clients or too few images."""

import dataclasses
import functools
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import client_update

# The bad results that replace trained results, by client number.
_NOT_A_NUMBER, _LONG = 11, 12
_LIES = {
  _NOT_A_NUMBER: lambda array: array * np.nan,
  # The norm of the weights is below 1, and updates may be up to 10 long.
  _LONG: lambda array: array + 100.0,
}
_SETTINGS = {
  **linear_problem.SETTINGS,
  # With three classes, most confidences are above this threshold.
  'confidence_threshold': 0.34,
}


def _build_lying(method, training):
  """Local training in which some clients report wrong weights."""
  train = _build_local_training(method, training)

  def train_or_lie(weights, context, data, optimizer_state):
    local = train(weights, context, data, optimizer_state)
    trainable = local.training.trainable
    for liar, lie in _LIES.items():
      trainable = tuple(
        tf.where(tf.equal(data['client_id'], liar), lie(array), array)
        for array in trainable
      )
    return local._replace(training=local.training._replace(trainable=trainable))

  return train_or_lie


_build_local_training = client_update.build_local_training


@dataclasses.dataclass(frozen=True, kw_only=True)
class _MeanConfidence(client_parts.FixedThreshold):
  """A method that reports a mean over images, NaN without images."""

  def init_guidance(self, model):
    return tf.constant(0.0)

  def tell(self, kept, server):
    return ()

  def guidance(self, kept, sums, server):
    return kept + sums

  def report(self, update):
    confidences = update.labels.confidences
    number = tf.cast(tf.size(confidences), tf.float32)
    return tf.reduce_sum(confidences) / number


@functools.cache
def _build_with_liars():
  with mock.patch.object(client_update, 'build_local_training', _build_lying):
    return _build_with(fix_mix.FixMix())


def _build_with(client):
  system = dataclasses.replace(small_systems.create('semifl'), client=client)
  return settings.change(system, _SETTINGS).build(
    small_systems.create_ingredients(seed=linear_problem.SEED)
  )


class UnsoundClientsTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  def _run_round(self, process, clients):
    state = process.initialize()._replace(round_num=1)
    return process.next(state, self.problem.server_data, clients)

  def _client_data(self, liar):
    """Data of a cohort in which client `liar` has the images of client 1."""
    first, last = self.problem.client_data([0, 2])
    return [
      first,
      linear_reference.client_dataset(liar, self.problem.clients[1][1]),
      last,
    ]

  def _assert_finite(self, output):
    for array in tf.nest.flatten(output.state):
      self.assertTrue(np.all(np.isfinite(array)))
    # Unmeasured values are NaN; no value is infinite.
    for value in tf.nest.flatten(output.metrics):
      self.assertFalse(np.isinf(value))

  def _assert_same_state(self, found, expected):
    for a, b in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

  @parameterized.named_parameters(
    ('not_a_number', _NOT_A_NUMBER), ('long', _LONG)
  )
  def test_mean_is_that_of_those_that_do_not_lie(self, liar):
    process = _build_with_liars()
    found = self._run_round(process, self._client_data(liar))
    expected = self._run_round(process, self.problem.client_data([0, 2]))
    self._assert_same_state(found.state, expected.state)
    self.assertEqual(found.metrics['client']['num_rejected'], 1.0)
    self.assertEqual(expected.metrics['client']['num_rejected'], 0.0)
    for name, value in expected.metrics['client'].items():
      if name != 'num_rejected':
        self.assertAlmostEqual(
          found.metrics['client'][name], value, places=5, msg=name
        )
    self.assertEqual(expected.metrics['client']['num_participating'], 2.0)

  def test_report_that_is_not_a_number_is_rejected(self):
    process = _build_with(fix_mix.FixMix(selection=_MeanConfidence()))
    nobody = linear_reference.client_dataset(1, self.problem.clients[1][1][:0])
    others = self.problem.client_data([0, 2])
    found = self._run_round(process, [*others, nobody])
    expected = self._run_round(process, others)
    self._assert_same_state(found.state, expected.state)
    self._assert_finite(found)
    self.assertEqual(found.metrics['client']['num_rejected'], 1.0)

  def test_round_of_a_liar_alone_is_the_servers(self):
    process = _build_with_liars()
    _, liar, _ = self._client_data(_NOT_A_NUMBER)
    found = self._run_round(process, [liar])
    expected = self._run_round(process, [])
    self._assert_same_state(found.state, expected.state)

  def test_whatever_images_clients_have_results_are_finite(self):
    noise = linear_reference.create_images(7)
    clients = {
      'none': noise[:0],
      'one': noise[:1],
      # With batches of three, the last batch has one image.
      'batch_and_one': noise[:4],
      'the_same_image': np.repeat(noise[:1], 7, axis=0),
      'black': np.zeros_like(noise),
      'white': np.full_like(noise, 255),
    }
    datasets = {
      name: linear_reference.client_dataset(number, images)
      for number, (name, images) in enumerate(clients.items())
    }
    datasets['no_chunk'] = linear_reference.client_dataset(9, noise).take(0)
    process = _build_with_liars()
    alone = self._run_round(process, [])
    for cohort in (
      *([dataset] for dataset in datasets.values()),
      list(datasets.values()),
    ):
      output = self._run_round(process, cohort)
      self._assert_finite(output)
      self.assertEqual(output.metrics['client']['num_rejected'], 0.0)
    for name in ('none', 'no_chunk'):
      found = self._run_round(process, [datasets[name]])
      self._assert_same_state(found.state, alone.state)

  def test_server_whose_images_are_all_of_one_class_gives_finite_results(self):
    process, images = _build_with_liars(), self.problem.images
    for labels in (np.zeros(len(images)), np.array([2]), np.array([])):
      output = process.next(
        process.initialize()._replace(round_num=1),
        linear_reference.labeled_dataset(images[: len(labels)], labels),
        self.problem.client_data([0, 1]),
      )
      self._assert_finite(output)


if __name__ == '__main__':
  absltest.main()
