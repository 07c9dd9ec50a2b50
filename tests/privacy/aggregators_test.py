# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the aggregators, against NumPy."""

import functools
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import simulation_test_case
from tests.core import sip_hash
from tff_semifl.experiment import checkpoints
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means
from tff_semifl.privacy import privacy_key

# Only tensors of more than 256 elements are quantized.
_SHAPES = ((30, 40), (256,))
_KEY = privacy_key.PrivacyKey((3).to_bytes(32))
_TYPE = tff.to_type([tff.TensorType(np.float32, shape) for shape in _SHAPES])


def _create(factory):
  return aggregators.create(factory, _TYPE)


def _create_private_mean(key=_KEY):
  return _create(
    means.PrivateMean(noise_multiplier=0.5, clipping_norm=2.0).build(
      clients_per_round=4, key=key
    )
  )


_private_mean = functools.cache(_create_private_mean)


def _draw_updates(num_clients, seed, lengths=None):
  """Draws an update for each client, with tensors of the given lengths."""
  generator = np.random.default_rng(seed)
  updates = []
  for client in range(num_clients):
    update = [generator.normal(size=shape) for shape in _SHAPES]
    if lengths is not None:
      scale = lengths[client] / _l2_norm(update)
      update = [array * scale for array in update]
    updates.append([array.astype(np.float32) for array in update])
  return updates


def _l2_norm(update):
  return np.sqrt(sum(np.sum(np.float64(array) ** 2) for array in update))


def _assert_close(found, expected, **tolerances):
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_allclose(
      a, b, **({'rtol': 1e-4, 'atol': 1e-6} | tolerances)
    )


class MeanTest(simulation_test_case.SimulationTestCase):
  @parameterized.named_parameters(
    ('mean', aggregators.Mean()),
    ('robust', means.RobustMean()),
    ('quantized', means.QuantizedMean()),
  )
  def test_nobody_and_nobody_that_counts_is_zero(self, aggregator):
    process = _create(aggregator.build())
    for num_clients in (0, 2):
      output = process.next(
        process.initialize(),
        [[np.zeros(shape, np.float32) for shape in _SHAPES]] * num_clients,
        [0.0] * num_clients,
      )
      for array in output.result:
        np.testing.assert_array_equal(array, np.zeros_like(array))


class PrivateMeanTest(simulation_test_case.SimulationTestCase):
  def _noise(self, process, state):
    """The noise of a round, and the state after the round."""
    output = process.next(state, [])
    return output.result, output.state

  def test_clips_sums_and_divides_by_what_was_to_come(self):
    """The divisor is the same for three and for five present clients."""
    process = _private_mean()
    for num_clients in (3, 5):
      state = process.initialize()
      lengths = [0.5, 8.0, 1.9, 2.1, 0.0][:num_clients]
      updates = _draw_updates(num_clients, seed=1, lengths=lengths)
      # The noise of a state does not depend on the cohort.
      noise, _ = self._noise(process, state)
      output = process.next(state, updates)
      clipped = [
        [array * min(1, 2 / max(length, 1e-9)) for array in update]
        for length, update in zip(lengths, updates, strict=True)
      ]
      expected = [
        np.sum(arrays, axis=0, dtype=np.float64) / 4
        for arrays in zip(*clipped, strict=True)
      ]
      _assert_close(
        [a - b for a, b in zip(output.result, noise, strict=True)],
        expected,
        atol=1e-5,
      )

  @parameterized.parameters(np.nan, np.inf, 1e20)
  def test_update_without_a_finite_norm_is_left_out(self, value):
    process, state = self._start()
    *updates, unsound = _draw_updates(3, seed=1)
    unsound[1][3] = value
    expected = process.next(state, updates).result
    found = process.next(state, [*updates, unsound]).result
    _assert_close(found, expected)

  def test_noise_is_gaussian(self):
    noise, _ = self._noise(*self._start())
    # Multiplier times norm, over four clients.
    values = noise[0].ravel() / (0.5 * 2 / 4)
    num = values.size
    # Four standard errors of the mean, the variance, and the fraction within
    # one deviation.
    self.assertLess(abs(values.mean()), 4 / np.sqrt(num))
    self.assertLess(abs(values.var() - 1), 4 * np.sqrt(2 / num))
    self.assertLess(
      abs(np.mean(np.abs(values) < 1) - 0.6827), 4 * np.sqrt(0.217 / num)
    )

  def _start(self):
    process = _private_mean()
    return process, process.initialize()

  def test_noise_follows_from_192_bits_of_keyed_hashes(self):
    """Noise equals a second implementation, with SipHash in Python."""
    # The test vector of SipHash's paper.
    self.assertEqual(
      sip_hash.compute(bytes(range(16)), bytes(range(15))), 0xA129CA6149BE45E5
    )
    process, state = self._start()
    _, state = self._noise(process, state)
    found, _ = self._noise(process, state)
    hash_key = _KEY.derive('noise', 16)
    for tensor_number, shape in enumerate(_SHAPES):
      words = [
        sip_hash.compute(hash_key, f'1/{tensor_number}/{word}'.encode()) % 2**32
        for word in range(6)
      ]
      key, *counter = (
        low + (high << 32)
        for low, high in zip(words[::2], words[1::2], strict=True)
      )
      normal = tf.raw_ops.StatelessRandomNormalV2(
        shape=[4, *shape],
        key=tf.constant([key], tf.uint64),
        counter=tf.constant(counter, tf.uint64),
        alg=tf.random.Algorithm.PHILOX.value,
      )
      np.testing.assert_allclose(
        found[tensor_number],
        # Multiplier times norm, over four clients.
        np.sum(np.float64(normal), axis=0) / 2 * (0.5 * 2 / 4),
        rtol=1e-4,
        atol=1e-6,
      )

  def test_noise_is_that_of_the_run_after_the_state_was_on_the_disk(self):
    process, state = self._start()
    _, state = self._noise(process, state)
    expected, _ = self._noise(process, state)
    folder = pathlib.Path(self.create_tempdir().full_path)
    manager = checkpoints.Checkpoints(folder, num_kept=1)
    manager.save(state, 1)
    restarted = _create_private_mean()
    loaded = manager.load_latest(restarted.initialize())
    found, _ = self._noise(restarted, loaded)
    for a, b in zip(found, expected, strict=True):
      np.testing.assert_array_equal(a, b)


class QuantizedMeanTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(1, 8)
  def test_rounds_each_tensor_to_a_grid_of_its_own(self, bits):
    process = _create(means.QuantizedMean(quantization_bits=bits).build())
    (update,) = updates = _draw_updates(1, seed=2)
    output = process.next(process.initialize(), updates, [1.0])
    low, high = update[0].min(), update[0].max()
    step = (high - low) / (2**bits - 1)
    expected = low + step * np.round((update[0] - low) / step)
    # Values halfway are rounded up or down, by float32's rounding.
    difference = np.abs(output.result[0] - expected)
    self.assertGreater(np.mean(difference < 1e-5), 0.99)
    np.testing.assert_allclose(output.result[1], update[1], rtol=1e-6)


if __name__ == '__main__':
  absltest.main()
