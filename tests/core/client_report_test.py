# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the diversity of clients' updates."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.core import client_work
from tff_semifl.models import functional

_KERNEL = 1


def _measure(kernels):
  """Returns both numbers for updates of a kernel, added up as clients' are."""
  updates = [
    client_work.update_sums(
      # Weights other than the kernel have no effect.
      (tf.constant([float(number)]), tf.constant(kernel, tf.float32)),
      _KERNEL,
    )
    for number, kernel in enumerate(kernels)
  ]
  sums = tf.nest.map_structure(lambda *parts: tf.add_n(parts), *updates)
  measured = client_work.measure_diversity(
    sums, tf.constant(float(len(kernels)))
  )
  return [float(value) for value in measured.values()]


class MeasureTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 7)
  def test_least_is_of_equal_updates(self, num_clients):
    kernel = np.array([[1.0, -2.0], [0.5, 3.0]])
    # n |d|^2 / |n d|^2 = 1 / n.
    np.testing.assert_allclose(
      _measure([kernel] * num_clients), [1 / num_clients, 1], rtol=1e-6
    )

  def test_relative_is_mean_of_squares_by_square_of_mean(self):
    """D51: the formula of the authors' script."""
    kernels = np.random.default_rng(0).normal(size=(5, 4, 3))
    diversity, relative = _measure(kernels)
    squares = np.sum(kernels**2, axis=(1, 2))
    np.testing.assert_allclose(
      diversity, squares.sum() / np.sum(kernels.sum(axis=0) ** 2), rtol=1e-5
    )
    np.testing.assert_allclose(
      relative, squares.mean() / np.sum(kernels.mean(axis=0) ** 2), rtol=1e-5
    )

  def test_nothing_to_measure(self):
    zeros = np.zeros([2, 2])
    np.testing.assert_array_equal(_measure([zeros, zeros]), [np.nan] * 2)
    sums = client_work.update_sums((tf.ones([2, 2]),), None)
    self.assertEqual(sums.update.shape, [])
    for value in client_work.measure_diversity(
      sums, tf.constant(1.0)
    ).values():
      self.assertTrue(np.isnan(value))


class KernelTest(absltest.TestCase):
  def test_last_dense_layer(self):
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          tf.keras.layers.Flatten(),
          # Not the last layer, though it has as many units as there are
          # classes.
          tf.keras.layers.Dense(3),
          tf.keras.layers.Dense(3),
        ]
      )
    )
    index = client_work.find_classifier_kernel(classifier)
    self.assertEqual(index, 2)
    update = [tf.constant(w) for w in classifier.initial_weights.trainable]
    sums = client_work.update_sums(update, index)
    self.assertEqual(sums.update.shape, [3, 3])

  def test_model_without_a_dense_layer(self):
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          tf.keras.layers.Conv2D(3, 2),
          tf.keras.layers.Flatten(),
        ]
      )
    )
    self.assertIsNone(client_work.find_classifier_kernel(classifier))
    update = [tf.constant(w) for w in classifier.initial_weights.trainable]
    sums = client_work.update_sums(update, None)
    self.assertEqual(sums.update.shape, [])


if __name__ == '__main__':
  absltest.main()
