# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for FedMatch's ResNet-9: counts, beginnings, and a second network."""

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional


def _create_model(size=8, num_classes=10, seed=0):
  return fedmatch_networks.create_fedmatch_resnet(
    (size, size, 3), num_classes, seed=seed
  )


def _get_parts(model):
  """Returns the values of sigma and of phi, layer by layer."""
  parts = fedmatch_networks.find_parts(
    [w.name for w in model.trainable_weights]
  )
  weights = [w.numpy() for w in model.trainable_weights]
  return parts.select_sigma(weights), parts.select_phi(weights)


def _pool(x):
  batch, height, width, channels = x.shape
  return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


def _forward(images, kernels):
  """The network of D.6 in float64."""

  def convolve(x, kernel):
    return np.maximum(residual_reference.convolve(x, kernel, 1), 0)

  x = convolve(images.astype(np.float64) / 255, kernels[0])
  x = _pool(convolve(x, kernels[1]))
  x = x + convolve(convolve(x, kernels[2]), kernels[3])
  x = _pool(convolve(x, kernels[4]))
  x = _pool(convolve(x, kernels[5]))
  x = x + convolve(convolve(x, kernels[6]), kernels[7])
  return x.max(axis=(1, 2)) @ kernels[8]


class FedMatchResNetTest(tf.test.TestCase):
  def test_published_parameter_counts(self):
    model = _create_model(32)
    for part in _get_parts(model):
      self.assertEqual(residual_reference.count(part), 6_568_640)
    self.assertEqual(residual_reference.count(model.weights), 2 * 6_568_640)
    # Three halvings, of which the last leaves what the authors pool.
    (pooling,) = residual_reference.in_order_of_creation(
      model, tf.keras.layers.GlobalMaxPooling2D
    )
    self.assertEqual(pooling.input_shape[1:], (4, 4, 512))

  def test_phi_starts_as_a_fifth_of_sigma(self):
    for sigma, phi in zip(*_get_parts(_create_model()), strict=True):
      self.assertAllClose(phi, 0.2 * sigma)

  def test_sigma_has_the_variance_of_its_inputs(self):
    for sigma in _get_parts(_create_model())[0]:
      standardized = np.ravel(sigma) * np.sqrt(np.prod(sigma.shape[:-1]))
      # Squares of a normal distribution cut at two standard deviations, and
      # scaled to variance one, have a variance below two.
      self.assertAllClose(
        np.mean(standardized**2), 1, rtol=0, atol=5 * np.sqrt(2 / sigma.size)
      )
      self.assertLess(np.abs(standardized).max(), 2 / 0.879)

  def test_equals_a_second_network(self):
    model = _create_model()
    images = np.random.default_rng(0).uniform(0, 255, size=(3, 8, 8, 3))
    sigma, phi = _get_parts(model)
    self.assertAllClose(
      model(images.astype(np.float32), training=True),
      _forward(images, [s + p for s, p in zip(sigma, phi, strict=True)]),
      rtol=1e-4,
      atol=1e-5,
    )

  @pytest.mark.slow
  def test_small_values_of_phi_are_left_out_in_inference_alone(self):
    model = _create_model()
    # Some weights are near the threshold of 1e-5; a factor makes them visible.
    for layer in model.layers:
      if layer.trainable_weights:
        layer.sigma.assign(1e-2 * layer.sigma)
        signs = np.sign(layer.phi.numpy())
        large = np.random.default_rng(0).uniform(size=signs.shape) < 0.5
        layer.phi.assign(signs * np.where(large, 1.1e-5, 0.99e-5))
    sigma, phi = _get_parts(model)
    images = np.random.default_rng(0).uniform(0, 255, size=(3, 8, 8, 3))
    images = images.astype(np.float32)
    classifier = functional.from_keras(model)
    weights = classifier.initial_weights
    large = [np.where(np.abs(p) > 1e-5, p, 0) for p in phi]
    sparse, dense = (
      [s + p for s, p in zip(sigma, each, strict=True)] for each in (large, phi)
    )
    for found, kernels in (
      (classifier.logits(weights, images), sparse),
      (classifier.train_logits(weights, images), dense),
    ):
      expected = _forward(images, kernels)
      scale = np.abs(expected).max()
      self.assertAllClose(found / scale, expected / scale, atol=1e-5)
    self.assertNotAllClose(
      _forward(images, sparse) / scale,
      _forward(images, dense) / scale,
      atol=1e-4,
    )

  @pytest.mark.slow
  def test_is_saved_and_loaded(self):
    model = _create_model()
    path = self.create_tempdir().full_path + '/model.keras'
    model.save(path)
    images = np.full([1, 8, 8, 3], 100, np.float32)
    self.assertAllClose(tf.keras.models.load_model(path)(images), model(images))


if __name__ == '__main__':
  absltest.main()
