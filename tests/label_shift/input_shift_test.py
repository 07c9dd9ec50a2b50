# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the shift of a site's images relative to clients' images."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.label_shift import input_shift


def _moments(clients):
  sums = [
    input_shift.to_sums(
      tf.constant(len(x), tf.float64), x.sum(axis=0), (x**2).sum(axis=0)
    )
    for x in clients
  ]
  return input_shift.find_moments(
    input_shift.InputSums(
      *(np.sum(each, 0) for each in zip(*sums, strict=True))
    ),
    len(clients),
  )


def _shift(x, moments):
  return float(
    input_shift.measure_shift(
      tf.constant(x.mean(axis=0), tf.float32), float(len(x)), moments
    )
  )


class InputShiftTest(parameterized.TestCase):
  def test_summaries_are_those_of_pixels(self):
    images = np.random.default_rng(0).integers(256, size=[2, 5, 6, 3])
    found = input_shift.summarize(tf.constant(images, tf.uint8))
    change = np.abs(np.diff(images, axis=1)).mean(axis=(1, 2))
    change += np.abs(np.diff(images, axis=2)).mean(axis=(1, 2))
    expected = [images.mean(axis=(1, 2)), images.std(axis=(1, 2)), change / 2]
    np.testing.assert_allclose(found, np.concatenate(expected, 1), rtol=1e-5)

  def test_moments_are_those_between_and_within_clients(self):
    rng = np.random.default_rng(0)
    clients = [rng.normal(size=[n, 2]) + 1e5 for n in (3, 9, 4, 5, 6)]
    found = _moments(clients)
    means = np.array([x.mean(axis=0) for x in clients])
    np.testing.assert_allclose(found.mean, means.mean(axis=0))
    np.testing.assert_allclose(found.between, means.var(axis=0), rtol=1e-3)
    within = np.mean([x.var(axis=0) for x in clients], axis=0)
    np.testing.assert_allclose(found.within, within, rtol=1e-3)

  def test_too_few_clients_tell_nothing(self):
    self.assertIsNone(_moments([np.zeros([3, 2])] * 4))

  @parameterized.parameters(0.0, 1e4)
  def test_sites_like_training_are_not_shifted(self, offset):
    rng = np.random.default_rng(0)

    def draw(num_images, center=0.0):
      center = center + rng.normal(size=20)
      return offset + center + rng.normal(size=[num_images, 20])

    moments = _moments([draw(50) for _ in range(40)])
    for num_images in (1, 10, 1000):
      shifts = [_shift(draw(num_images), moments) for _ in range(100)]
      self.assertBetween(np.mean(shifts), 0.7, 1.3)
      self.assertLess(max(shifts), input_shift.GREATEST_SHIFT)
      self.assertGreater(
        _shift(draw(num_images, 4), moments), input_shift.GREATEST_SHIFT
      )

  def test_what_was_constant_in_training_may_not_change(self):
    rng = np.random.default_rng(0)
    clients = [
      np.stack([rng.normal(size=9), np.full(9, 7.0)], 1) for _ in range(9)
    ]
    moments = _moments(clients)
    self.assertLess(_shift(clients[0], moments), 2)
    self.assertGreater(_shift(clients[0] + [0, 1], moments), 10)


if __name__ == '__main__':
  absltest.main()
