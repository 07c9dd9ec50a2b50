# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that RandAugment equals KerasCV's RandAugment with the same draws.

The expected results come from KerasCV itself: defaults, pool of layers, draws
and operations.
"""

import inspect
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import keras_cv
import numpy as np
import pytest
from scipy import stats
import tensorflow as tf

from tests.augment import everywhere
from tff_semifl.augment import keras_cv_policy

_SEED = tf.constant([7, 8])
# With fewer than 256 pixels, `Equalization` has no effect.
_IMAGE_SIZE = (16, 20)
# Positions in the pool; the first two operations have no parameters.
_INDICES = tuple(range(10))
_WITH_PARAMETERS = tuple(range(2, 10))


def _random_images(num_images, num_channels=3):
  shape = (num_images, *_IMAGE_SIZE, num_channels)
  return np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)


def _create_layers():
  return keras_cv.layers.RandAugment.get_standard_policy(
    (0, 255),
    keras_cv_policy.MAGNITUDE,
    keras_cv_policy.STANDARD_DEVIATION,
    seed=1,
  )


def _parameters_of(operation, transformations):
  """The parameters of a layer's transformations.

  A layer shears or shifts along both axes, but the policy sets one parameter to
  zero; this project's operation draws only the other parameter.
  """
  key = {
    'RandomShearX': 'shear_x',
    'RandomShearY': 'shear_y',
    'RandomTranslationX': 'width_translations',
    'RandomTranslationY': 'height_translations',
  }.get(operation.name)
  return transformations[key] if key else transformations


class PoolTest(parameterized.TestCase, tf.test.TestCase):
  def test_probability_and_deviation_are_those_of_the_layer(self):
    theirs = inspect.signature(keras_cv.layers.RandAugment).parameters
    self.assertEqual(
      keras_cv_policy.STANDARD_DEVIATION, theirs['magnitude_stddev'].default
    )
    self.assertEqual(
      keras_cv_policy.APPLICATION_PROBABILITY, theirs['rate'].default
    )

  def test_has_the_ten_layers_in_their_order(self):
    layers = _create_layers()
    operations = keras_cv_policy.create_operations()
    self.assertLen(operations, 10)
    # Layers for two axes occur twice; this project's operations name the axis.
    self.assertEqual(
      [
        operation.name.removesuffix('X').removesuffix('Y')
        for operation in operations
      ],
      [type(layer).__name__ for layer in layers],
    )

  def test_global_generator_is_not_touched(self):
    # Layers would create this on first use, inside the graph of that moment.
    keras_cv_policy.create_operations.cache_clear()
    with mock.patch.object(tf.random, 'get_global_generator') as get_generator:
      keras_cv_policy.create_operations()
      get_generator.assert_not_called()
      keras_cv.layers.AutoContrast((0, 255))
      get_generator.assert_called()

  @parameterized.parameters(*_INDICES)
  def test_operation_does_what_the_layer_does(self, index):
    operation, layer = (
      keras_cv_policy.create_operations()[index],
      _create_layers()[index],
    )
    images = tf.cast(_random_images(30), tf.float32)
    tf.random.set_seed(index)
    transformations = layer.get_random_transformation_batch(30)

    views = operation.apply(images, _parameters_of(operation, transformations))

    expected = layer.augment_images(images, transformations=transformations)
    self.assertNotAllClose(expected, images)
    self.assertAllClose(views, expected, atol=1e-3)

  @parameterized.parameters(*_WITH_PARAMETERS)
  @pytest.mark.slow
  def test_draws_are_distributed_as_those_of_the_layer(self, index):
    num_draws = 3000
    operation = keras_cv_policy.create_operations()[index]
    layer = _create_layers()[index]
    # The layers draw from generators that are seeded here.
    tf.random.set_seed(index)
    expected = _parameters_of(
      operation, layer.get_random_transformation_batch(num_draws)
    )
    found = operation.draw(num_draws, _SEED)

    tf.nest.assert_same_structure(found, expected)
    for ours, theirs in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      self.assertEqual(ours.shape, theirs.shape)
      self.assertEqual(ours.dtype, theirs.dtype)
      # The Kolmogorov-Smirnov distance of two samples exceeds 1.95 * sqrt(2 /
      # n) once in a thousand cases. Rounding errors, such as of 255 * 0.3 in
      # float32, are not differences.
      distance = stats.ks_2samp(
        np.round(np.ravel(ours), 4), np.round(np.ravel(theirs), 4)
      ).statistic
      self.assertLess(distance, 1.95 * np.sqrt(2 / num_draws))

  def test_two_numbers_of_an_operation_are_drawn_apart(self):
    parameters = {
      operation.name: operation.draw(3000, _SEED)
      for operation in keras_cv_policy.create_operations()
    }
    solarization = parameters['Solarization']
    shear = np.ravel(parameters['RandomShearX'])
    for first, second in (
      (
        np.ravel(solarization['additions']),
        np.ravel(solarization['thresholds']),
      ),
      (np.sign(shear), np.abs(shear)),
    ):
      self.assertLess(abs(np.corrcoef(first, second)[0, 1]), 5 / np.sqrt(3000))


class GentleRandAugmentTest(absltest.TestCase):
  @pytest.mark.slow
  def test_same_everywhere(self):
    images = _random_images(24)
    augment = keras_cv_policy.build_gentle_rand_augment()
    views = everywhere.run_everywhere(augment, images, _SEED)
    # Fused kernels may round in the other direction: rarely, by one gray level.
    for place in ('graph', 'dataset'):
      difference = np.abs(
        views[place].astype(np.int32) - views['eager'].astype(np.int32)
      )
      self.assertLessEqual(np.mean(difference > 0), 0.01, place)
