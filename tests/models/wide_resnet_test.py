# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for wide residual networks: published counts, and a second network.

The second network is `residual_reference.forward`: it reads B.1 and the
weights, nothing else.
"""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet

_MEAN = (0.4914, 0.4822, 0.4465)
_STANDARD_DEVIATION = (0.2023, 0.1994, 0.2010)


@functools.lru_cache
def _create_model(size=32, num_classes=10, depth=28, width=2, seed=0, **kwargs):
  return wide_resnet.create_wide_resnet(
    (size, size, 3),
    num_classes,
    depth=depth,
    width=width,
    pixel_mean=_MEAN,
    pixel_standard_deviation=_STANDARD_DEVIATION,
    seed=seed,
    **kwargs,
  )


class ArchitectureTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((32, 10, 28, 1_467_610), (96, 10, 37, 5_929_434))
  def test_published_parameter_counts(self, size, num_classes, depth, expected):
    model = _create_model(size, num_classes, depth)
    self.assertEqual(
      residual_reference.count(model.trainable_weights), expected
    )

  def test_parameters_layer_by_layer(self):
    model = _create_model()
    # Stem; in each group the first block's three, then seven 3x3.
    shapes = [(3, 3, 3, 16)]
    for inputs, outputs in ((16, 32), (32, 64), (64, 128)):
      shapes += [(1, 1, inputs, outputs), (3, 3, inputs, outputs)]
      shapes += [(3, 3, outputs, outputs)] * 7
    kernels = residual_reference.get_kernels(model)
    self.assertEqual([kernel.shape for kernel in kernels], shapes)
    self.assertLen(shapes, 28)
    norms = residual_reference.in_order_of_creation(
      model, static_batch_norm.StaticBatchNormalization
    )
    channels = [16, *[32] * 8, *[64] * 8, *[128] * 8]
    self.assertEqual([norm.gamma.shape[0] for norm in norms], channels)
    # 432 in the stem; 70,112, 279,488 and 1,116,032 in the groups with their
    # two normalizations a block; 256 in the last one; 1,290 in the classifier.
    counts = [np.prod(shape) for shape in shapes]
    in_groups = [
      sum(counts[1 + 9 * g : 10 + 9 * g]) + 2 * sum(channels[8 * g : 8 * g + 8])
      for g in range(3)
    ]
    self.assertEqual(counts[0], 432)
    self.assertEqual(in_groups, [70_112, 279_488, 1_116_032])
    self.assertEqual(2 * channels[-1], 256)
    self.assertEqual(model.layers[-1].count_params(), 1290)
    # Only the classifier has a bias.
    self.assertEqual(
      432 + sum(in_groups) + 256 + 1290,
      residual_reference.count(model.trainable_weights),
    )
    # Mean and variance of the 25 normalizations.
    self.assertEqual(
      residual_reference.count(model.non_trainable_weights), 2 * sum(channels)
    )

  @parameterized.parameters((8, 4, 8), (96, 13, 12))
  def test_groups_are_as_many_as_leave_8_pixels_or_a_little_more(
    self, size, depth, last_size
  ):
    # One block in each of 1, 2, 3, 4 groups: twice that, stem and classifier
    # with it, and what else counts, make depth 4, 7, 10, 13.
    model = _create_model(size, depth=depth, width=1)
    blocks = residual_reference.in_order_of_creation(model, tf.keras.layers.Add)
    self.assertLen(blocks, (depth - 1) // 3)
    self.assertEqual(blocks[-1].output_shape[1:3], (last_size, last_size))

  @parameterized.parameters(
    # 16 channels at first and then: a projection everywhere.
    dict(width=2, depth=7, num_groups=2, strides=(1, 2)),
    # Width 1: the first group keeps 16 channels, so the identity.
    dict(width=1, depth=7, num_groups=2, strides=(1, 2)),
    # A second block in each group, which keeps the channels.
    dict(width=1, depth=11, num_groups=2, strides=(1, 1, 2, 1)),
  )
  def test_equals_a_second_network(self, width, depth, num_groups, strides):
    """SemiFL's code, not FixMatch's or Keras' (D19)."""
    model = _create_model(8, 5, depth=depth, width=width, num_groups=num_groups)
    residual_reference.randomize_norms(model)
    images = np.random.default_rng(1).integers(256, size=(6, 8, 8, 3))
    images = images.astype(np.float32)
    self.assertAllClose(
      model(images, training=True),
      residual_reference.forward(
        model,
        images.astype(np.float64),
        strides=strides,
        pixel_mean=_MEAN,
        pixel_standard_deviation=_STANDARD_DEVIATION,
      ),
      rtol=1e-3,
      atol=1e-3,
    )


class InitialWeightsTest(parameterized.TestCase, tf.test.TestCase):
  def test_kernels_are_kaiming_normal(self):
    residual_reference.assert_kernels_are_kaiming_normal(_create_model())

  def test_classifier_is_uniform(self):
    kernel, bias = _create_model().layers[-1].get_weights()
    bound = 1 / np.sqrt(128)
    self.assertLess(np.abs(kernel).max(), bound)
    # 1280 numbers: none in the outer 2% once in e^25 cases.
    self.assertGreater(np.abs(kernel).max(), 0.98 * bound)
    # The squares have mean 1/3 and variance 1/5 - 1/9 = 0.089.
    self.assertAllClose(
      np.mean((kernel / bound) ** 2),
      1 / 3,
      rtol=0,
      atol=5 * np.sqrt(0.089 / 1280),
    )
    self.assertAllEqual(bias, np.zeros(10))

  def test_layers_differ(self):
    kernels = residual_reference.get_kernels(_create_model())
    by_shape = collections.defaultdict(list)
    for kernel in kernels:
      by_shape[kernel.shape].append(np.ravel(kernel))
    alike = [each for each in by_shape.values() if len(each) > 1]
    self.assertLen(alike, 3)
    for each in alike:
      correlations = np.corrcoef(each) - np.eye(len(each))
      self.assertLess(np.abs(correlations).max(), 5 / np.sqrt(each[0].size))

  def test_are_a_function_of_the_seed(self):
    residual_reference.assert_is_function_of_seed(
      lambda seed: _create_model.__wrapped__(8, depth=4, width=1, seed=seed)
    )


class ArgumentsTest(parameterized.TestCase):
  @parameterized.parameters(
    (32, 27, 3, '10, 16, 22, 28'), (16, 8, 2, '7, 11, 15, 19')
  )
  def test_depth_that_no_network_has(self, size, depth, num_groups, possible):
    with self.assertRaisesRegex(
      ValueError,
      f'with {num_groups} groups has depth {depth}; possible are {possible} ',
    ):
      _create_model(size, depth=depth, width=1)

  def test_statistics_that_do_not_fit_the_channels(self):
    with self.assertRaisesRegex(ValueError, '3 values for 1 channels'):
      wide_resnet.create_wide_resnet(
        (8, 8, 1),
        10,
        depth=4,
        width=1,
        pixel_mean=_MEAN,
        pixel_standard_deviation=_STANDARD_DEVIATION,
      )


if __name__ == '__main__':
  absltest.main()
