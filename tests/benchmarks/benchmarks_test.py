# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that benchmarks compare equal arithmetic, on small federations.

Speed is not tested.
"""

import contextlib
import dataclasses
import functools
from unittest import mock

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from benchmarks import client_step
from benchmarks import federation as federation_lib
from benchmarks import memory
from benchmarks import plain_round
from benchmarks import ray_rounds
from benchmarks import rounds
from benchmarks import scaling
from tasks import cifar
from tests import small_digits
from tff_semifl import runtime

_SIZE = federation_lib.Size(
  model_depth=10,
  model_width=1,
  num_clients=2,
  images_per_client=12,
  num_labeled=20,
)


# Federations keep no state of rounds, and are slow to build.
_create_federation = functools.cache(federation_lib.Federation)


def tearDownModule():
  # TensorFlow warns of functions that outlive the test.
  _create_federation.cache_clear()


class _TestCase(absltest.TestCase):
  """Base class of tests with small federations, built once for each size."""

  def setUp(self):
    super().setUp()
    # Building RandAugment and a WideResNet takes far longer than measuring them
    # here.
    data_set = dataclasses.replace(
      cifar.CIFAR10.data_set,
      build_strong_augmentation=lambda: (
        small_digits.SmallDigits().create().strong_augmentation
      ),
    )
    self.enter_context(mock.patch.object(cifar.CIFAR10, 'data_set', data_set))
    self.enter_context(small_digits.without_wide_resnet())
    self.enter_context(
      mock.patch.object(federation_lib, 'Federation', _create_federation)
    )


@pytest.mark.slow
class FederationTest(_TestCase):
  def test_plain_round_is_the_round_of_the_process(self):
    federation = federation_lib.Federation(_SIZE)
    with runtime.simulation_context():
      state = federation.process.next(
        federation.initial_state(),
        federation.server_data(),
        federation.client_data(),
      ).state
    weights, velocity, server_state = plain_round.build_round(federation)(
      plain_round.initial_state(federation)
    )
    for found, expected in zip(
      tf.nest.flatten((weights, velocity, server_state['accumulator'])),
      tf.nest.flatten(
        (
          state.global_model_weights,
          state.finalizer['accumulator'],
          state.server_work['accumulator'],
        )
      ),
      strict=True,
    ):
      np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    # The test is meaningful only if clients changed the model.
    self.assertGreater(max(np.abs(v).max() for v in velocity), 1e-3)


@pytest.mark.slow
class MeasurementsTest(_TestCase):
  def _check(self, measured, names, num_repetitions=2, least=0):
    self.assertEqual(list(measured.values), names)
    for values in measured.values.values():
      self.assertLen(values, num_repetitions)
      self.assertGreaterEqual(min(values), least)
    self.assertIn(names[0], measured.table())

  def test_client_step(self):
    measured = client_step.measure(2, _SIZE)
    self._check(measured, ['plain TensorFlow'])
    # 12 images in batches of ten.
    self.assertIn('of 2: WideResNet', measured.description)

  def test_round(self):
    self._check(rounds.measure(2, _SIZE), ['plain TensorFlow', 'in process'])

  def test_round_on_a_ray_cluster(self):
    in_context = runtime.simulation_context
    # Starting a cluster and its actor takes far longer than all rounds.
    with (
      in_context(ray=runtime.RayOptions()) as cluster,
      mock.patch.object(
        runtime,
        'simulation_context',
        lambda ray=None: (
          contextlib.nullcontext(cluster) if ray else in_context()
        ),
      ),
    ):
      # The first round, because images are sent only once.
      measured = ray_rounds.measure_traffic(2, _SIZE)
      self._check(ray_rounds.measure(2, _SIZE), ['in process', 'Ray'])
    images = measured.values['data']
    size = 32 * 32 * 3 / 1e6
    # The images of clients and server are sent once, each in one message.
    self.assertBetween(images[0], (2 * 12 + 20) * size, 1.1 * 44 * size)
    self.assertEqual(images[1], 0)
    self.assertGreater(min(measured.values['results']), 0)

  def test_profile_adds_up(self):
    measured = rounds.profile(2, _SIZE)
    # 'all else' is a difference of times that a profiler measures separately.
    self._check(
      measured,
      ['TensorFlow', 'arguments in', 'results out', 'all else'],
      least=-0.01,
    )
    self.assertGreater(
      min(measured.values['TensorFlow']), max(measured.values['arguments in'])
    )

  def test_memory(self):
    measured = memory.measure(1, _SIZE, checkpoints=(2, 4))
    self._check(
      measured,
      [
        'as many clients in each round, after 2',
        'as many clients in each round, after 4',
        'another number in each round, after 2',
        'another number in each round, after 4',
      ],
      num_repetitions=1,
    )
    # TensorFlow alone takes more than 100 MB.
    for (megabytes,) in measured.values.values():
      self.assertBetween(megabytes, 100, 100_000)

  def test_scaling(self):
    self._check(
      scaling.measure_rounds(
        1, _SIZE._replace(num_clients=1, images_per_client=2), factor=2
      ),
      [
        'a small round',
        '2 times the clients',
        '2 times the images of a client',
        '1 times the width',
      ],
      num_repetitions=1,
    )
