# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for networks whose kernels have two parts (B.5)."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.models import residual
from tff_semifl.models import wide_resnet


@functools.lru_cache
def _create_model(
  size=32,
  num_classes=10,
  depth=28,
  width=2,
  create_convolution=fedmatch_networks.create_decomposed_convolution,
):
  return wide_resnet.create_wide_resnet(
    (size, size, 3),
    num_classes,
    depth=depth,
    width=width,
    pixel_mean=(0.5, 0.4, 0.3),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
    create_convolution=create_convolution,
  )


def _get_convolutions(model):
  return residual_reference.in_order_of_creation(
    model, fedmatch_networks.DecomposedConvolution
  )


class ArchitectureTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (32, 10, 28, 2, 2_930_314), (96, 10, 37, 2, 11_848_586)
  )
  @pytest.mark.slow
  def test_published_parameter_counts(
    self, size, num_classes, depth, width, expected
  ):
    model = _create_model(size, num_classes, depth, width)
    self.assertEqual(
      residual_reference.count(model.trainable_weights), expected
    )

  def test_all_convolutions_have_two_parts_and_nothing_else_has(self):
    model = _create_model()
    # Stem, 24 of 3x3 and 3 projections.
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
    plain = _create_model(
      8, depth=6, width=1, create_convolution=residual.create_plain_convolution
    )
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


class InitialWeightsTest(tf.test.TestCase):
  def test_parts_are_independent_and_variance_is_doubled(self):
    for layer in _get_convolutions(_create_model()):
      sigma, phi = layer.sigma.numpy(), layer.phi.numpy()
      size, _, _, outputs = sigma.shape
      variance = 2 / (size * size * outputs)
      n = sigma.size
      # Of n standard normal numbers the mean of the squares has variance 2 / n,
      # and that of the products of two such the variance 1 / n.
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

  def test_layers_differ(self):
    first, second = _get_convolutions(_create_model())[3:5]
    self.assertEqual(first.sigma.shape, second.sigma.shape)
    kernels = [np.ravel(part) for part in (*first.weights, *second.weights)]
    correlations = np.corrcoef(kernels) - np.eye(4)
    self.assertLess(np.abs(correlations).max(), 5 / np.sqrt(kernels[0].size))


class FunctionalTest(tf.test.TestCase):
  @pytest.mark.slow
  def test_trains_in_bfloat16(self):
    model = _create_model(8, depth=4, width=1)
    images = np.random.default_rng(0).uniform(0, 255, size=(3, 8, 8, 3))
    whole, half = (
      classifier.train_logits(
        classifier.initial_weights, images.astype(np.float32)
      )
      for classifier in (
        functional.from_keras(model),
        functional.from_keras(model, train_in_bfloat16=True),
      )
    )
    # Eight bits of each number, in four layers.
    self.assertAllClose(whole, half, rtol=0.05, atol=0.05)
    self.assertNotAllClose(whole, half, rtol=1e-5, atol=1e-5)

  def test_model_is_saved_and_loaded(self):
    model = _create_model(8, depth=4, width=1)
    path = self.create_tempdir().full_path + '/model.keras'
    model.save(path)
    images = np.zeros([1, 8, 8, 3], np.float32)
    self.assertAllClose(tf.keras.models.load_model(path)(images), model(images))

  def test_plain_network_has_no_parts(self):
    model = _create_model(
      8, depth=4, width=1, create_convolution=residual.create_plain_convolution
    )
    with self.assertRaisesRegex(ValueError, 'No kernel .* has two parts'):
      fedmatch_networks.find_parts(functional.from_keras(model).trainable_names)


if __name__ == '__main__':
  absltest.main()
