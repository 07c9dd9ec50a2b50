# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for ResNet-9 and -18: counts of B.2, and a second network."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import residual
from tff_semifl.models import wide_resnet

_MEAN = (0.4914, 0.4822, 0.4465)
_STANDARD_DEVIATION = (0.2023, 0.1994, 0.2010)


@functools.lru_cache
def _create_model(size=32, num_classes=10, depth=9, seed=0, **kwargs):
  return wide_resnet.create_resnet(
    (size, size, 3),
    num_classes,
    depth=depth,
    pixel_mean=_MEAN,
    pixel_standard_deviation=_STANDARD_DEVIATION,
    seed=seed,
    **kwargs,
  )


def _count_by_hand(blocks_per_stage, num_classes):
  """The layers of B.2, one by one."""
  total = 3 * 3 * 3 * 64
  inputs = 64
  for outputs in (64, 128, 256, 512):
    for _ in range(blocks_per_stage):
      # Scale and offset of two normalizations, two 3x3, and the projection.
      total += 2 * inputs + 9 * inputs * outputs
      total += 2 * outputs + 9 * outputs * outputs
      total += inputs * outputs if inputs != outputs else 0
      inputs = outputs
  return total + 2 * 512 + 512 * num_classes + num_classes


class ArchitectureTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (9, 10, 4_901_450), (9, 100, 4_947_620), (18, 10, 11_172_170)
  )
  @pytest.mark.slow
  def test_parameter_counts_of_the_authors(self, depth, num_classes, expected):
    """They could not be trained in the authors' last code (D20)."""
    self.assertEqual(_count_by_hand(depth // 9, num_classes), expected)
    for create_normalization in (
      residual.create_static_batch_norm,
      residual.create_group_norm,
    ):
      model = _create_model(
        num_classes=num_classes,
        depth=depth,
        create_normalization=create_normalization,
      )
      self.assertEqual(
        residual_reference.count(model.trainable_weights), expected
      )

  @parameterized.product(
    network=((9, (1, 2, 2, 2)), (18, (1, 1, 2, 1, 2, 1, 2, 1))),
    normalization=(
      (residual.create_static_batch_norm, residual_reference.normalize_batch),
      (
        residual.create_group_norm,
        # 64, 128, 256 and 512 channels all divide into 32 groups (D21).
        functools.partial(residual_reference.normalize_groups, num_groups=32),
      ),
    ),
  )
  @pytest.mark.slow
  def test_equals_a_second_network(self, network, normalization):
    depth, strides = network
    create_normalization, normalize = normalization
    # Not the cached model, which other tests use.
    model = _create_model.__wrapped__(
      8, 5, depth=depth, create_normalization=create_normalization
    )
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
        normalize=normalize,
      ),
      rtol=1e-3,
      atol=1e-3,
    )

  def test_depth_that_there_is_not(self):
    with self.assertRaisesRegex(
      ValueError, 'has depth 10; possible are 9 and 18'
    ):
      _create_model(depth=10)


class InitialWeightsTest(tf.test.TestCase):
  def test_kernels_are_kaiming_normal(self):
    residual_reference.assert_kernels_are_kaiming_normal(_create_model())


if __name__ == '__main__':
  absltest.main()
