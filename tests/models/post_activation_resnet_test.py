# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the ResNet-18 of Zhang et al.: count of B.3, another network."""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import residual
from tff_semifl.models import zhang2020_networks

_MEAN = (0.4914, 0.4822, 0.4465)
_STANDARD_DEVIATION = (0.2471, 0.2435, 0.2616)


def _create_model(size=32, num_classes=10, **kwargs):
  return zhang2020_networks.create_post_activation_resnet(
    (size, size, 3),
    num_classes,
    pixel_mean=_MEAN,
    pixel_standard_deviation=_STANDARD_DEVIATION,
    **kwargs,
  )


def _forward(model, images, normalize):
  """The network of B.3, block by block, in float64."""
  kernels = collections.deque(residual_reference.get_kernels(model))
  norms = collections.deque(residual_reference.get_norms(model))

  def convolve(x, stride=1):
    return residual_reference.convolve(x, kernels.popleft(), stride)

  def norm(x):
    layer = norms.popleft()
    return normalize(x) * layer.gamma + layer.beta

  x = (images / 255 - np.array(_MEAN)) / np.array(_STANDARD_DEVIATION)
  x = np.maximum(norm(convolve(x)), 0)
  for stride, projects in (
    (1, False),
    (1, False),
    (2, True),
    (1, False),
    (2, True),
    (1, False),
    (2, True),
    (1, False),
  ):
    h = np.maximum(norm(convolve(x, stride)), 0)
    h = norm(convolve(h))
    skip = norm(convolve(x, stride)) if projects else x
    x = np.maximum(h + skip, 0)
  assert not (kernels or norms), 'Some layers were not used.'
  kernel, bias = model.layers[-1].get_weights()
  return x.mean(axis=(1, 2)) @ kernel + bias


class PostActivationResnetTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    residual.create_group_norm, residual.create_static_batch_norm
  )
  def test_parameter_count_of_the_benchmark(self, create_normalization):
    # Stem, and a scale and an offset for each channel of a normalization.
    expected = 27 * 64 + 2 * 64
    inputs = 64
    for outputs in (64, 128, 256, 512):
      expected += 9 * inputs * outputs + 3 * 9 * outputs**2 + 4 * 2 * outputs
      if inputs != outputs:
        expected += inputs * outputs + 2 * outputs
      inputs = outputs
    expected += 512 * 10 + 10
    self.assertEqual(expected, 11_173_962)
    model = _create_model(create_normalization=create_normalization)
    self.assertEqual(
      residual_reference.count(model.trainable_weights), expected
    )

  @parameterized.parameters(
    (
      residual.create_group_norm,
      functools.partial(residual_reference.normalize_groups, num_groups=32),
    ),
    (residual.create_static_batch_norm, residual_reference.normalize_batch),
  )
  @pytest.mark.slow
  def test_equals_a_second_network(self, create_normalization, normalize):
    model = _create_model(8, 5, create_normalization=create_normalization)
    residual_reference.randomize_norms(model)
    images = np.random.default_rng(1).integers(256, size=(6, 8, 8, 3))
    images = images.astype(np.float32)
    self.assertAllClose(
      model(images, training=True),
      _forward(model, images.astype(np.float64), normalize),
      rtol=1e-3,
      atol=1e-3,
    )

  @pytest.mark.slow
  def test_initial_weights_are_those_of_pytorch(self):
    """Uniform by the number of inputs, biases too; functions of the seed."""
    model = _create_model()
    kernel, bias = model.layers[-1].get_weights()
    weights = [
      (k, np.prod(k.shape[:3])) for k in residual_reference.get_kernels(model)
    ]
    for array, num_inputs in (*weights, (kernel, 512)):
      bound = 1 / np.sqrt(num_inputs)
      # Of n uniform numbers none is beyond the bound, and the variance is a
      # third of its square, with a relative error of sqrt(4 / 5 / n).
      self.assertLessEqual(np.abs(array).max(), bound * (1 + 1e-6))
      self.assertAllClose(
        array.var(), bound**2 / 3, rtol=5 * np.sqrt(0.8 / array.size), atol=0
      )
    self.assertLessEqual(np.abs(bias).max(), 1 / np.sqrt(512))
    self.assertGreater(np.unique(bias).size, 5)
    again, other = _create_model(), _create_model(seed=1)
    for a, b in zip(model.weights, again.weights, strict=True):
      self.assertAllEqual(a, b)
    self.assertNotAllClose(
      residual_reference.get_kernels(model)[0],
      residual_reference.get_kernels(other)[0],
    )


if __name__ == '__main__':
  absltest.main()
