# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of principal components, against NumPy's singular values."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.algorithms.client_priors import components as components_lib


def _find(x, standardizes=False, center=None, is_used=None):
  if center is None:
    center = x[:20].mean(axis=0)
  center = tf.constant(center, tf.float32)
  if is_used is None:
    is_used = np.full(x.shape[1], True)
  return components_lib.find(
    components_lib.measure(tf.constant(x, tf.float32), center),
    tf.cast(center, tf.float64),
    tf.constant(is_used),
    tf.constant(standardizes),
  )


class ComponentsTest(parameterized.TestCase):
  @parameterized.product(
    (
      # One component for ten examples; at least ten, and at most 200 or as many
      # as there are features.
      dict(examples=300, features=40, expected=30),
      dict(examples=12, features=30, expected=10),
      dict(examples=2200, features=210, expected=200),
      dict(examples=300, features=12, expected=12),
      dict(examples=20, features=1, expected=1),
    ),
    standardizes=(False, True),
  )
  def test_are_those_of_largest_variance(
    self, examples, features, expected, standardizes
  ):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(examples, features))
    x = x * np.linspace(1, 2, features) + 1
    components = _find(x, standardizes)
    scaled = x / x.std(axis=0) if standardizes else x
    deviations = np.linalg.svd(scaled - scaled.mean(axis=0), compute_uv=False)
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
    weights = generator.normal(size=(len(variances) + 1, 3))
    raw = components_lib.to_raw(tf.constant(weights), components).numpy()
    np.testing.assert_allclose(
      np.float32(x).astype(np.float64) @ raw[:-1] + raw[-1],
      projected @ weights[:-1] + weights[-1],
      atol=1e-6,
    )

  def test_a_column_that_is_constant_on_either_side_is_not_used(self):
    x = np.random.default_rng(0).normal(size=(200, 5))
    x[:, 1] = 1e5
    components = _find(x, is_used=[True, True, True, False, True])
    np.testing.assert_array_equal(
      np.any(components.basis.numpy(), axis=1), [True, False, True, False, True]
    )

  @parameterized.parameters(0, 1, 2)
  def test_directions_without_variance_are_not_used(self, rank):
    # Sums of integers are exact.
    x = np.random.default_rng(0).integers(9, size=(40, 2))
    x[:, rank:] = 3
    components = _find(np.tile(x, 3))
    is_used = np.arange(6) < rank
    np.testing.assert_array_equal(components.variances > 0, is_used)
    np.testing.assert_array_equal(components.variances.numpy()[rank:], 0)
    np.testing.assert_array_equal(
      np.any(components.basis.numpy(), axis=0), is_used
    )

  def test_a_mean_of_100000_deviations_leaves_float32_exact(self):
    x = np.random.default_rng(0).normal(size=(500, 8)) * np.arange(1, 9)
    moved = np.float32(x + 1e5).astype(np.float64)
    near, far = _find(x), _find(moved)
    np.testing.assert_allclose(near.variances, far.variances, rtol=2e-2)
    np.testing.assert_allclose(far.center, moved.mean(axis=0), rtol=1e-7)

  def test_of_many_features_the_largest_are_found_without_all(self):
    generator = np.random.default_rng(0)
    # Eigenvalues decrease as for features of photographs.
    basis = np.linalg.qr(generator.normal(size=(600, 600)))[0]
    x = generator.normal(size=(2000, 600)) * np.arange(1, 601) ** -0.5
    x = x @ basis.T
    found = _find(x)
    x = np.float32(x) - np.float32(x).mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    values = values[::-1][:200]
    np.testing.assert_allclose(
      found.variances, values / values.mean(), rtol=1e-3
    )
    # The first fifty components span the same space.
    unit = found.basis.numpy()[:, :50]
    unit /= np.linalg.norm(unit, axis=0)
    cosines = np.linalg.svd(vectors[:, ::-1][:, :50].T @ unit, compute_uv=False)
    self.assertGreater(np.mean(cosines**2), 0.999)


if __name__ == '__main__':
  absltest.main()
