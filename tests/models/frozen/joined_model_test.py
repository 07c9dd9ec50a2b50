# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of backbone and head as one model, and of its export."""

import pathlib

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models.frozen import small_backbone
from tff_semifl.experiment import frozen_models
from tff_semifl.export import saved_model
from tff_semifl.export import tflite
from tff_semifl.models.frozen import efficientnet_lite

_NAMES = ('cat', 'dog')
_KERNEL = np.float32([[2, -1], [0, 1], [-1, 0.5]])
_BIAS = np.float32([0.5, -0.25])


def _softmax(logits):
  powers = np.exp(logits - logits.max(-1, keepdims=True))
  return powers / powers.sum(-1, keepdims=True)


class JoinedModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _check_exports(self, model, images, expected, atol):
    """Compares probabilities of a SavedModel and of a TFLite model."""
    folder = self._folder / 'export'
    saved_model.export_saved_model(model, _NAMES, folder)
    file = self._folder / 'model.tflite'
    file.write_bytes(tflite.convert(model, _NAMES, tflite.Precision.FLOAT32))
    for path in (folder, file):
      loaded = tflite.load(path)
      self.assertEqual(loaded.image_shape, images.shape[1:])
      np.testing.assert_allclose(
        loaded.predict(images), expected, rtol=0, atol=atol
      )

  # Smaller than the backbone's input, gray, and larger.
  @parameterized.parameters((2, 2, 1), (9, 6, 3))
  def test_computes_logits_of_features(self, *image_shape):
    backbone = small_backbone.create()
    images = small_backbone.noise(5, *image_shape)
    model = frozen_models.join(backbone, _KERNEL, _BIAS, image_shape)
    np.testing.assert_allclose(
      model(images.astype(np.float32)),
      backbone.features(images) @ _KERNEL + _BIAS,
      rtol=1e-5,
    )

  def test_exports_from_pixels_to_probabilities(self):
    image_shape = (2, 2, 1)
    backbone = small_backbone.create(1 / 255)
    images = small_backbone.noise(5, *image_shape)
    model = frozen_models.join(backbone, _KERNEL, _BIAS, image_shape)
    logits = backbone.features(images) @ _KERNEL + _BIAS
    np.testing.assert_allclose(
      model(images.astype(np.float32)), logits, rtol=0, atol=1e-5
    )
    # Bilinear enlarging to twice the size preserves the mean of each channel.
    means = np.broadcast_to(images.mean((1, 2)) / 255, (5, 3))
    np.testing.assert_allclose(
      logits, means @ _KERNEL + _BIAS, rtol=0, atol=1e-5
    )
    self._check_exports(model, images, _softmax(logits), 1e-5)

  @pytest.mark.slow
  def test_exports_efficientnet_lite0(self):
    backbone = efficientnet_lite.load((64, 64))
    tf.random.set_seed(0)
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(1280, 2)).astype(np.float32) / 30
    images = small_backbone.noise(3, 32, 32, 3)
    model = frozen_models.join(backbone, kernel, _BIAS, (32, 32, 3))
    expected = _softmax(backbone.features(images) @ kernel + _BIAS)
    self._check_exports(model, images, expected, 1e-4)
