# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the statistics for static batch normalisation."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl import runtime
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm
from tff_semifl.work import batch_norm_statistics


def _create_classifier():
  """Two normalisations; what the second sees depends on the first."""
  return functional.from_keras(
    tf.keras.Sequential(
      [
        tf.keras.Input((2, 2, 1)),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.ReLU(),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3),
      ]
    )
  )


class ComputationTest(absltest.TestCase):
  def test_types(self):
    weights = (
      '<trainable=<float32[1],float32[1],float32[1],float32[1],float32[4,3],'
      'float32[3]>,non_trainable=<float32[1],float32[1],float32[1],float32[1]>>'
    )
    statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      _create_classifier()
    )
    self.assertEqual(
      statistics.type_signature.compact_representation(),
      f'(<weights={weights}@SERVER,'
      'dataset=<image=uint8[?,2,2,1],label=int32[?]>*@SERVER> ->'
      f' {weights}@SERVER)',
    )

  def test_model_without_layers_is_refused(self):
    with self.assertRaisesRegex(ValueError, 'no static batch normalisation'):
      batch_norm_statistics.build_server_batch_norm_statistics(
        linear_reference.create_classifier()
      )


class ExecutionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enterContext(runtime.simulation_context())
    self.classifier = _create_classifier()
    self.statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      self.classifier
    )

  def _compute(self, images):
    labels = np.zeros([len(images)], np.int32)
    return self.statistics(
      self.classifier.initial_weights,
      linear_reference.labelled_dataset(images, labels),
    ).non_trainable

  def test_first_layer_has_mean_and_unbiased_variance_of_all_images(self):
    # Batches of 250, 250 and 100 that differ: half of the images are dark. The
    # mean of batch variances (D8) would be far off.
    images = linear_reference.create_images(600)
    images[:300] //= 8
    mean, variance, *_ = self._compute(images)
    pixels = images.astype(np.float64).ravel()
    np.testing.assert_allclose(mean, [pixels.mean()], rtol=1e-5)
    np.testing.assert_allclose(variance, [pixels.var(ddof=1)], rtol=1e-5)

  def test_deeper_layer_sees_what_batch_statistics_make_of_each_batch(self):
    images = linear_reference.create_images(300)
    seen = []
    for batch in (images[:250], images[250:]):
      pixels = batch.astype(np.float64)
      # Normalised by the biased variance, with epsilon 1e-5, then ReLU.
      normalized = (pixels - pixels.mean()) / np.sqrt(pixels.var() + 1e-5)
      seen.append(np.maximum(normalized, 0).ravel())
    seen = np.concatenate(seen)
    *_, mean, variance = self._compute(images)
    np.testing.assert_allclose(mean, [seen.mean()], rtol=1e-4)
    np.testing.assert_allclose(variance, [seen.var(ddof=1)], rtol=1e-4)

  def test_without_images_nothing_changes(self):
    for found, expected in zip(
      self._compute(linear_reference.create_images(0)),
      self.classifier.initial_weights.non_trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)

  def test_merged_moments_are_those_of_all_values(self):
    def moments(values):
      mean = values.mean(axis=0)
      deviations = ((values - mean) ** 2).sum(axis=0)
      count = np.full_like(mean, len(values))
      return np.stack([count, mean, deviations]).astype(np.float32)

    values = np.random.default_rng(0).normal(3, 2, size=(100, 4))
    merged = batch_norm_statistics.merge_moments(
      tf.zeros([3, 4]), moments(values[:1])
    )
    merged = batch_norm_statistics.merge_moments(merged, moments(values[1:30]))
    merged = batch_norm_statistics.merge_moments(merged, moments(values[30:]))
    np.testing.assert_allclose(merged, moments(values), rtol=1e-4)


if __name__ == '__main__':
  absltest.main()
