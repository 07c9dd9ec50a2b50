# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of frozen networks as functions of images."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.models.frozen import small_backbone
from tff_semifl.data import pixels
from tff_semifl.models.frozen import backbone as backbone_lib


class BackboneTest(parameterized.TestCase):
  def test_averages_maps_and_computes_all_batches(self):
    images = small_backbone.noise(2 * backbone_lib.BATCH_SIZE + 3, 4, 4, 3)
    backbone = small_backbone.create(factor=2)
    self.assertEqual(backbone.feature_dimension, 3)
    found = backbone.features(images)
    self.assertEqual(found.dtype, np.float32)
    np.testing.assert_allclose(found, 2 * images.mean((1, 2)), rtol=1e-5)

  def test_takes_images_of_any_size_and_gray_ones(self):
    backbone = small_backbone.create()
    for shape in ((8, 8, 3), (2, 2, 3), (4, 4, 1), (3, 7, 1)):
      images = np.full((2, *shape), 9, np.uint8)
      np.testing.assert_allclose(
        backbone.features(images), np.full((2, 3), 9), rtol=1e-5
      )
    self.assertEqual(
      backbone.features(np.zeros((0, 4, 4, 3), np.uint8)).shape, (0, 3)
    )

  def test_is_in_inference_mode(self):
    inputs = tf.keras.Input((4, 4, 3))
    x = tf.keras.layers.BatchNormalization()(inputs)
    network = tf.keras.Model(inputs, tf.keras.layers.Dropout(0.5)(x))
    backbone = backbone_lib.Backbone(
      'mine', network, small_backbone.prepare((4, 4))
    )
    images = np.full((8, 4, 4, 3), 100, np.uint8)
    # The initial statistics, and Keras's epsilon.
    expected = np.full((8, 3), 100 / np.sqrt(1.001))
    for _ in range(2):
      np.testing.assert_allclose(backbone.features(images), expected, rtol=1e-5)

  def test_digest_is_that_of_equal_backbones_alone(self):
    digest = small_backbone.create().digest
    self.assertRegex(digest, '^[0-9a-f]{64}$')
    # Keras numbers the names of layers, which the digest ignores.
    self.assertEqual(small_backbone.create().digest, digest)
    others = (
      small_backbone.create(factor=1.0001),
      small_backbone.create(image_size=(4, 5)),
    )
    self.assertLen({digest, *(each.digest for each in others)}, 3)

  def test_refuses_other_networks(self):
    prepare = small_backbone.prepare((8, 8))
    inputs = tf.keras.Input((8, 8, 3))

    class Subclass(tf.keras.Model):
      def call(self, inputs):
        return inputs

    for network, message in (
      (small_backbone.create_network(), r'shape \[4, 4, 3\], not \[8, 8, 3\]'),
      (tf.keras.Model(inputs, [inputs, inputs]), 'one input and one output'),
      (Subclass(), 'one input and one output'),
      (
        tf.keras.Model(inputs, tf.keras.layers.Reshape((64, 3))(inputs)),
        r'its output has the shape \[64, 3\]',
      ),
    ):
      with self.assertRaisesRegex(
        backbone_lib.BackboneError, f'^backbone mine: .*{message}'
      ):
        backbone_lib.Backbone('mine', network, prepare)


class PreparationTest(parameterized.TestCase):
  @parameterized.parameters(
    ((8, 8), (16, 16)), ((6, 4), (9, 6)), ((9, 12), (8, 8)), ((4, 9), (8, 8))
  )
  def test_fits_as_exported_models_do(self, shape, size):
    images = tf.constant(small_backbone.noise(2, *shape, 3))
    np.testing.assert_allclose(
      backbone_lib.fit(images, size),
      pixels.scale_and_crop(images, *size),
      rtol=0,
      atol=1e-3,
    )

  def test_refuses_other_shapes(self):
    prepare = small_backbone.prepare((4, 4))
    for shape in ((2, 4, 4), (2, 4, 4, 2)):
      with self.assertRaisesRegex(ValueError, 'found images of shape'):
        prepare(tf.zeros(shape))
