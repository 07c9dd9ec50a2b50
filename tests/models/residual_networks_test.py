# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of residual networks: published counts, and second implementations."""

import collections
import functools

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import wide_resnet_reference
from tests.models import residual_reference
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import fixmatch_wide_resnet
from tff_semifl.models import keras_conversion
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet
from tff_semifl.models import zhang2020_networks

_MEAN = (0.4914, 0.4822, 0.4465)
_STANDARD_DEVIATION = (0.2023, 0.1994, 0.2010)
_STATIC = (
  keras_conversion.to_static_batch_norm,
  residual_reference.normalize_batch,
)
_GROUPS = (
  zhang2020_networks.to_group_norm,
  # As many groups as there are channels, but at most 32.
  lambda x: residual_reference.normalize_groups(x, min(32, x.shape[-1])),
)


def _create(
  size=32,
  num_classes=10,
  create=wide_resnet.create_wide_resnet,
  channels=3,
  **kwargs,
):
  if create is wide_resnet.create_wide_resnet:
    kwargs = {'depth': 28, 'width': 2} | kwargs
  return create(
    (size, size, channels),
    num_classes,
    pixel_mean=_MEAN,
    pixel_standard_deviation=_STANDARD_DEVIATION,
    **kwargs,
  )


_create_once = functools.lru_cache(_create)
_create_post_activation = functools.partial(
  _create, create=zhang2020_networks.create_post_activation_resnet
)


def _noise(num_images=6):
  images = np.random.default_rng(1).integers(256, size=(num_images, 8, 8, 3))
  return images.astype(np.float32)


class ArchitectureTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (_create, 1_467_610),
    (_create_post_activation, 11_173_962),
    # Biases of the stem, and of nine convolutions in each group.
    (
      lambda: fixmatch_wide_resnet.create((32, 32, 3), 10, depth=28, width=2),
      1_467_610 + 16 + 9 * (32 + 64 + 128),
    ),
    (
      lambda: _create(
        create=fedmatch_networks.create_decomposed_wide_resnet,
        depth=28,
        width=2,
      ),
      2_930_314,
    ),
    (
      lambda: zhang2020_networks.create_emnist_cnn(
        (28, 28, 1), 47, pixel_mean=(0.1,), pixel_standard_deviation=(0.3,)
      ),
      1_204_655,
    ),
  )
  def test_published_parameter_counts(self, create, expected):
    weights = create().trainable_weights
    self.assertEqual(residual_reference.count(weights), expected)

  @parameterized.parameters(
    # 16 channels at first, then more: every group has a projection.
    (dict(width=2, depth=7, num_groups=2), (1, 2), _STATIC),
    (dict(width=2, depth=7, num_groups=2), (1, 2), _GROUPS),
    # With width 1 the first group has 16 channels and no projection. A second
    # block in a group keeps the number of channels.
    (dict(width=1, depth=11, num_groups=2), (1, 1, 2, 1), _STATIC),
  )
  def test_equals_a_second_network(self, arguments, strides, normalization):
    """The network equals SemiFL's code, not FixMatch's or Keras's network."""
    replace, normalize = normalization
    model = keras_conversion.convert(
      _create(8, 5, **arguments), replace, replaces_static=True
    )
    residual_reference.randomize_norms(model)
    images = _noise()
    self.assertAllClose(
      model(images, training=True),
      wide_resnet_reference.forward(
        [each.name for each in model.trainable_weights],
        [each.numpy().astype('float64') for each in model.trainable_weights],
        images,
        strides=strides,
        mean=_MEAN,
        deviation=_STANDARD_DEVIATION,
        normalize=lambda x: normalize(x.numpy()),
      ),
      rtol=1e-3,
      atol=1e-3,
    )

  @parameterized.parameters(_STATIC, _GROUPS)
  @pytest.mark.slow
  def test_post_activation_equals_a_second_network(self, replace, normalize):
    model = keras_conversion.convert(
      _create_post_activation(8, 5), replace, replaces_static=True
    )
    residual_reference.randomize_norms(model)
    images = _noise()
    self.assertAllClose(
      model(images, training=True),
      _forward_post_activation(model, images.astype(np.float64), normalize),
      rtol=1e-3,
      atol=1e-3,
    )

  @parameterized.parameters(
    (dict(depth=27, width=1), 'with 3 groups has depth 27; .* 10, 16, 22, 28'),
    (dict(channels=1, depth=10), '3 values for 1 channels'),
  )
  def test_what_no_network_has(self, arguments, message):
    with self.assertRaisesRegex(ValueError, message):
      _create(**arguments)


def _forward_post_activation(model, images, normalize):
  """The post-activation network, block by block, in float64."""
  kernels = collections.deque(residual_reference.get_kernels(model))
  norms = collections.deque(residual_reference.get_norms(model))

  def convolve(x, stride=1):
    return residual_reference.convolve(x, kernels.popleft(), stride)

  def norm(x):
    layer = norms.popleft()
    return normalize(x) * layer.gamma + layer.beta

  x = (images / 255 - np.array(_MEAN)) / np.array(_STANDARD_DEVIATION)
  x = np.maximum(norm(convolve(x)), 0)
  for block in range(8):
    projects = block in (2, 4, 6)
    stride = 2 if projects else 1
    h = np.maximum(norm(convolve(x, stride)), 0)
    h = norm(convolve(h))
    skip = norm(convolve(x, stride)) if projects else x
    x = np.maximum(h + skip, 0)
  assert not (kernels or norms), 'Some layers were not used.'
  kernel, bias = model.layers[-1].get_weights()
  return x.mean(axis=(1, 2)) @ kernel + bias


class InitialWeightsTest(parameterized.TestCase, tf.test.TestCase):
  def test_kernels_are_kaiming_normal(self):
    residual_reference.assert_kernels_are_kaiming_normal(_create_once())

  def test_classifier_is_uniform(self):
    kernel, bias = _create_once().layers[-1].get_weights()
    _assert_uniform(kernel, 128)
    self.assertAllEqual(bias, np.zeros(10))

  def test_are_a_function_of_the_seed(self):
    residual_reference.assert_is_function_of_seed(
      lambda seed: _create(8, depth=4, width=1, seed=seed)
    )

  @pytest.mark.slow
  def test_post_activation_has_weights_of_pytorch(self):
    """Weights and biases are uniform by the number of inputs, by the seed."""
    model = _create_post_activation()
    kernel, bias = model.layers[-1].get_weights()
    for array in (*residual_reference.get_kernels(model), kernel):
      _assert_uniform(array, np.prod(array.shape[:-1]))
    self.assertLessEqual(np.abs(bias).max(), 1 / np.sqrt(512))
    self.assertGreater(np.unique(bias).size, 5)
    residual_reference.assert_is_function_of_seed(
      lambda seed: _create_post_activation(8, seed=seed)
    )


def _assert_uniform(array, num_inputs):
  """Asserts that values are uniform up to 1 / sqrt(number of inputs)."""
  bound = 1 / np.sqrt(num_inputs)
  assert np.abs(array).max() <= bound * (1 + 1e-6)
  # The variance of n uniform numbers has a relative error of sqrt(4 / 5 / n).
  np.testing.assert_allclose(
    array.var(), bound**2 / 3, rtol=5 * np.sqrt(0.8 / array.size), atol=0
  )


def _create_fixmatch(**changes):
  arguments = {'depth': 10, 'width': 1, 'num_groups': 3, 'seed': 1} | changes
  return fixmatch_wide_resnet.create((16, 16, 3), 4, **arguments)


def _convolve(x, kernel, bias, stride=1):
  return tf.nn.conv2d(x, kernel, stride, 'SAME') + bias


def _activate(x, gamma, beta):
  mean, variance = (np.mean(x, axis=(0, 1, 2)), np.var(x, axis=(0, 1, 2)))
  x = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
  return np.where(x > 0, x, 0.1 * x)


def _forward_fixmatch(model, images):
  """Logits in training mode, with one block in each of three groups."""
  convolutions, norms, dense = (
    iter(
      [w.numpy().astype(np.float64) for w in layer.trainable_weights]
      for layer in residual_reference.in_order_of_creation(model, kind)
    )
    for kind in (
      tf.keras.layers.Conv2D,
      static_batch_norm.StaticBatchNormalization,
      tf.keras.layers.Dense,
    )
  )
  x = _convolve(images / 127.5 - 1, *next(convolutions))
  for group in range(3):
    stride = 2 if group else 1
    h = _activate(x, *next(norms))
    # In the very first block, the shortcut is activated.
    shortcut = x if group else h
    h = _convolve(h, *next(convolutions), stride)
    h = _convolve(_activate(h, *next(norms)), *next(convolutions))
    if shortcut.shape[-1] != h.shape[-1]:
      shortcut = _convolve(shortcut, *next(convolutions), stride)
    x = shortcut + h
  x = np.mean(_activate(x, *next(norms)), axis=(1, 2))
  [(kernel, bias)] = dense
  return x @ kernel + bias


class FixMatchWideResNetTest(parameterized.TestCase):
  @parameterized.parameters(1, 2)
  def test_equals_a_second_network(self, width):
    # With 16 channels, the first block has no projection.
    model = _create_fixmatch(width=width)
    generator = np.random.default_rng(0)
    for weight in model.trainable_weights:
      if 'kernel' not in weight.name:
        weight.assign(generator.normal(1, 0.3, weight.shape))
    images = generator.uniform(0, 255, size=(5, 16, 16, 3))
    np.testing.assert_allclose(
      model(images.astype(np.float32), training=True),
      _forward_fixmatch(model, images),
      rtol=1e-3,
      atol=1e-4,
    )

  def test_kernels_start_by_outputs_and_biases_at_0(self):
    model = _create_fixmatch(width=4)
    for weight in model.trainable_weights:
      values = weight.numpy()
      if values.ndim == 4 and values.size > 10_000:
        size, _, _, outputs = values.shape
        np.testing.assert_allclose(
          np.std(values), np.sqrt(2 / (size**2 * outputs)), rtol=0.05
        )
      elif 'bias' in weight.name:
        np.testing.assert_array_equal(values, np.zeros_like(values))
