# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of principal components, against NumPy's singular values."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.methods.client_priors import components as components_lib


def _find(x):
  return components_lib.find(components_lib.measure(tf.constant(x, tf.float32)))


class ComponentsTest(parameterized.TestCase):
  @parameterized.parameters(
    # One for ten examples; at least ten, and at most 100 or all there are.
    (300, 40, 30),
    (12, 30, 10),
    (1200, 110, 100),
    (300, 12, 12),
    (20, 1, 1),
  )
  def test_are_those_of_largest_variance(self, examples, features, expected):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(examples, features))
    x = x * np.linspace(1, 2, features) + 1
    components = _find(x)
    deviations = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    variances = deviations[:expected] ** 2 / examples
    variances /= variances.mean()
    variances = np.pad(
      variances, (0, components_lib.count_components(features) - expected)
    )
    np.testing.assert_allclose(components.variances, variances, atol=1e-4)
    projected = components_lib.project(tf.constant(x, tf.float32), components)
    np.testing.assert_allclose(np.mean(projected, axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(
      np.transpose(projected) @ projected / examples,
      np.diag(variances),
      atol=1e-4,
    )

  @parameterized.parameters(0, 1, 2)
  def test_directions_without_variance_are_not_used(self, rank):
    # Integers, whose sums are exact.
    x = np.random.default_rng(0).integers(9, size=(40, 2))
    x[:, rank:] = 3
    components = _find(np.tile(x, 3))
    is_used = np.arange(6) < rank
    np.testing.assert_array_equal(components.variances > 0, is_used)
    np.testing.assert_array_equal(components.variances.numpy()[rank:], 0)
    basis = components.projection.numpy()[:, :-1]
    np.testing.assert_array_equal(np.any(basis, axis=0), is_used)


if __name__ == '__main__':
  absltest.main()
