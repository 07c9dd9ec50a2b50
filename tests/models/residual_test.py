# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the normalizations that residual networks can be given."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import functional
from tff_semifl.models import residual
from tff_semifl.models import wide_resnet


def _create_wide_resnet(**kwargs):
  return wide_resnet.create_wide_resnet(
    (8, 8, 3),
    5,
    depth=7,
    num_groups=2,
    pixel_mean=(0.5, 0.4, 0.3),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
    **kwargs,
  )


class GroupNormTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    # Zhang et al. have 32 groups in every layer (D21).
    (512, 32),
    # 32 do not divide these: the next smaller number that does.
    (48, 24),
    (80, 20),
    # Fewer channels than that.
    (16, 16),
  )
  def test_groups(self, num_channels, num_groups):
    layer = residual.create_group_norm(num_channels)
    x = np.random.default_rng(0).normal(3, 2, size=(2, 4, 4, num_channels))
    self.assertAllClose(
      layer(x.astype(np.float32)),
      residual_reference.normalize_groups(x, num_groups),
      atol=1e-4,
    )
    self.assertEqual(layer.groups, num_groups)

  def test_epsilon_is_not_that_of_keras(self):
    # Variance 1e-4: divided by sqrt(1e-4 + 1e-5), or with Keras' 1e-3 by
    # sqrt(1e-4 + 1e-3), three times as much.
    x = np.array([-0.01, 0.01], np.float32).reshape(1, 1, 2, 1)
    self.assertAllClose(
      residual.create_group_norm(1)(x), x / np.sqrt(1e-4 + 1e-5), rtol=1e-3
    )

  @pytest.mark.slow
  def test_model_has_no_statistics_and_no_modes(self):
    model = _create_wide_resnet(
      width=2, create_normalization=residual.create_group_norm
    )
    classifier = functional.from_keras(model)
    self.assertIsNone(classifier.batch_moments)
    self.assertEmpty(classifier.initial_weights.non_trainable)
    images = np.random.default_rng(0).integers(256, size=(4, 8, 8, 3))
    images = images.astype(np.float32)
    weights = classifier.initial_weights
    logits = classifier.logits(weights, images)
    self.assertAllClose(
      classifier.train_logits(weights, images), logits, atol=1e-5
    )
    # No image depends on the others of its batch.
    self.assertAllClose(
      classifier.logits(weights, images[:1]), logits[:1], atol=1e-4
    )

  def test_wide_resnet_equals_a_second_network(self):
    # 16, 32 and 64 channels: as many groups as there are, but for the last.
    model = _create_wide_resnet(
      width=2, create_normalization=residual.create_group_norm
    )
    residual_reference.randomize_norms(model)
    images = np.random.default_rng(0).integers(256, size=(4, 8, 8, 3))
    images = images.astype(np.float32)
    self.assertAllClose(
      model(images),
      residual_reference.forward(
        model,
        images.astype(np.float64),
        strides=(1, 2),
        pixel_mean=(0.5, 0.4, 0.3),
        pixel_standard_deviation=(0.2, 0.3, 0.4),
        normalize=lambda x: residual_reference.normalize_groups(
          x, min(32, x.shape[-1])
        ),
      ),
      rtol=1e-3,
      atol=1e-3,
    )

  def test_takes_the_place_of_batch_normalization_weight_by_weight(self):
    groups = _create_wide_resnet(
      width=1, seed=3, create_normalization=residual.create_group_norm
    )
    batch = _create_wide_resnet(width=1, seed=3)
    for a, b in zip(
      groups.trainable_weights, batch.trainable_weights, strict=True
    ):
      self.assertAllEqual(a, b)


if __name__ == '__main__':
  absltest.main()
