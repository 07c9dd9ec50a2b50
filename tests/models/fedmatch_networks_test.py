# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of networks with two-part kernels."""

import functools

import numpy as np
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import wide_resnet


@functools.lru_cache
def _create_model(
  size=32,
  num_classes=10,
  depth=28,
  width=2,
  create=fedmatch_networks.create_decomposed_wide_resnet,
):
  return create(
    (size, size, 3),
    num_classes,
    depth=depth,
    width=width,
    pixel_mean=(0.5, 0.4, 0.3),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
  )


def _get_convolutions(model):
  return residual_reference.in_order_of_creation(
    model, fedmatch_networks.DecomposedConvolution
  )


class DecomposedWideResNetTest(tf.test.TestCase):
  def test_all_convolutions_have_two_parts_and_nothing_else_has(self):
    model = _create_model()
    # The stem, 24 convolutions of 3x3 and 3 projections.
    self.assertLen(_get_convolutions(model), 28)
    parts = fedmatch_networks.find_parts(
      [w.name for w in model.trainable_weights]
    )
    sizes = np.array([np.prod(w.shape) for w in model.trainable_weights])
    # Each part is as large as the kernels of the plain network.
    self.assertEqual(sizes[np.array(parts.sigma)].sum(), 1_462_704)
    self.assertEqual(sizes[np.array(parts.phi)].sum(), 1_462_704)
    self.assertFalse(np.any(np.logical_and(parts.sigma, parts.phi)))

  def test_without_phi_it_is_the_plain_network(self):
    model = _create_model(8, depth=6, width=1)
    plain = _create_model(8, 10, 6, 1, wide_resnet.create_wide_resnet)
    for layer in _get_convolutions(model):
      layer.phi.assign(tf.zeros_like(layer.phi))
    images = np.random.default_rng(0).uniform(0, 255, size=(3, 8, 8, 3))
    images = images.astype(np.float32)
    for training in (False, True):
      self.assertAllClose(
        model(images, training=training),
        plain(images, training=training),
        rtol=1e-5,
        atol=1e-5,
      )

  def test_kernel_is_the_sum_of_the_parts(self):
    generator = np.random.default_rng(1)
    layer = fedmatch_networks.DecomposedConvolution(5, 3, 2, 0)
    x = generator.normal(size=(2, 9, 9, 4)).astype(np.float32)
    layer.build(tf.TensorShape(x.shape))
    found = layer(x)
    kernel = layer.sigma.numpy() + layer.phi.numpy()
    # The layer does not pad: rows with padding are not compared.
    expected = residual_reference.convolve(x[:, 1:-1, 1:-1], kernel, 2)
    self.assertAllClose(
      found[:, 1:-1, 1:-1], expected[:, 1:-1, 1:-1], atol=1e-5
    )


class DecomposedWeightsTest(tf.test.TestCase):
  def test_parts_are_independent_and_variance_is_doubled(self):
    for layer in _get_convolutions(_create_model()):
      sigma, phi = layer.sigma.numpy(), layer.phi.numpy()
      size, _, _, outputs = sigma.shape
      variance = 2 / (size * size * outputs)
      n = sigma.size
      # For n standard normal numbers, the mean of the squares has variance 2 /
      # n, and the mean of products of two independent numbers variance 1 / n.
      for kernel, expected in ((sigma, 1), (phi, 1), (sigma + phi, 2)):
        self.assertAllClose(
          np.mean(kernel**2) / variance,
          expected,
          rtol=0,
          atol=5 * expected * np.sqrt(2 / n),
        )
      self.assertAllClose(
        np.mean(sigma * phi) / variance, 0, atol=5 / np.sqrt(n)
      )


class FunctionalTest(tf.test.TestCase):
  def test_models_are_saved_and_loaded(self):
    inputs = tf.keras.Input((8, 8, 3))
    x = fedmatch_networks.DecomposedConvolution(2, 3, 1, 0)(inputs)
    x = fedmatch_networks.SparseConvolution(2, 0)(x)
    x = fedmatch_networks.SparseDense(3, 0)(tf.keras.layers.Flatten()(x))
    model = tf.keras.Model(inputs, x)
    path = self.create_tempdir().full_path + '/model.keras'
    model.save(path)
    images = np.full([1, 8, 8, 3], 100, np.float32)
    loaded = tf.keras.models.load_model(path)
    self.assertAllClose(loaded(images), model(images))

  def test_plain_network_has_no_parts(self):
    with self.assertRaisesRegex(ValueError, 'No kernel .* has two parts'):
      fedmatch_networks.find_parts(['dense/kernel:0'])


def _create_resnet(size=8):
  return fedmatch_networks.create_fedmatch_resnet((size, size, 3), 10)


_create_resnet_once = functools.cache(_create_resnet)


def _get_parts(model):
  """The values of sigma and of phi, layer by layer."""
  parts = fedmatch_networks.find_parts(
    [w.name for w in model.trainable_weights]
  )
  weights = [w.numpy() for w in model.trainable_weights]
  return parts.select_sigma(weights), parts.select_phi(weights)


def _pool(x):
  batch, height, width, channels = x.shape
  return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


def _forward(images, kernels):
  """The forward pass in float64."""

  def convolve(x, kernel):
    return np.maximum(residual_reference.convolve(x, kernel, 1), 0)

  x = convolve(images.astype(np.float64) / 255, kernels[0])
  x = _pool(convolve(x, kernels[1]))
  x = x + convolve(convolve(x, kernels[2]), kernels[3])
  x = _pool(convolve(x, kernels[4]))
  x = _pool(convolve(x, kernels[5]))
  x = x + convolve(convolve(x, kernels[6]), kernels[7])
  return x.max(axis=(1, 2)) @ kernels[8]


class SparseLayersTest(tf.test.TestCase):
  def test_small_values_of_phi_are_left_out_in_inference_alone(self):
    layer = fedmatch_networks.SparseDense(1, 0)
    inputs = tf.eye(3)
    layer(inputs)  # Creates the weights.
    layer.sigma.assign([[1e-5], [0.0], [0.0]])
    layer.phi.assign([[1.1e-5], [-0.99e-5], [0.99e-5]])
    self.assertAllClose(
      layer(inputs, training=True), [[2.1e-5], [-0.99e-5], [0.99e-5]]
    )
    self.assertAllClose(layer(inputs), [[2.1e-5], [0], [0]], rtol=1e-6, atol=0)


class FedMatchResNetTest(tf.test.TestCase):
  def test_published_parameter_counts(self):
    model = _create_resnet(32)
    self.assertEqual(residual_reference.count(model.weights), 2 * 6_568_640)
    # Three halvings, after which 4x4 pixels are pooled.
    (pooling,) = residual_reference.in_order_of_creation(
      model, tf.keras.layers.GlobalMaxPooling2D
    )
    self.assertEqual(pooling.input_shape[1:], (4, 4, 512))

  def test_phi_starts_as_a_fifth_of_sigma(self):
    for sigma, phi in zip(*_get_parts(_create_resnet_once()), strict=True):
      self.assertAllClose(phi, 0.2 * sigma)

  def test_equals_a_second_network(self):
    model = _create_resnet_once()
    images = np.random.default_rng(0).uniform(0, 255, size=(3, 8, 8, 3))
    sigma, phi = _get_parts(model)
    self.assertAllClose(
      model(images.astype(np.float32), training=True),
      _forward(images, [s + p for s, p in zip(sigma, phi, strict=True)]),
      rtol=1e-4,
      atol=1e-5,
    )
