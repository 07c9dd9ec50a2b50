# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the statistics for static batch normalization."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.training import batch_norm_reference
from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.batch_norm import layer_moments


def _moments(values):
  """Returns float32 [3, channels] of float64 [values, channels]."""
  mean = values.mean(axis=0)
  deviations = ((values - mean) ** 2).sum(axis=0)
  count = np.full_like(mean, len(values))
  return np.stack([count, mean, deviations]).astype(np.float32)


class ComputationTest(absltest.TestCase):
  def test_model_without_layers_is_refused(self):
    with self.assertRaisesRegex(
      ValueError, 'has no static batch normalization'
    ):
      batch_norm_statistics.build_server_batch_norm_statistics(
        linear_reference.create_classifier()
      )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = batch_norm_reference.create_classifier()
    cls.statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      cls.classifier
    )

  def _compute(self, dataset):
    return self.statistics(self.classifier.initial_weights, dataset)

  def _compute_for(self, images):
    labels = np.zeros([len(images)], np.int32)
    return self._compute(linear_reference.labeled_dataset(images, labels))

  def test_each_layer_has_mean_and_unbiased_variance_of_all_images(self):
    # Batches of 250, 250 and 100 that differ: half of the images are dark. The
    # mean of batch variances (D8) would be far off.
    images = linear_reference.create_images(600)
    images[:300] //= 8
    statistics = self._compute_for(images).non_trainable
    # The deeper layer's inputs are normalized by each batch's own statistics.
    expected = []
    for values in batch_norm_reference.see_all(images):
      expected += [values.mean(axis=0), values.var(axis=0, ddof=1)]
    for found, value in zip(statistics, expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)

  def test_trainable_weights_stay(self):
    found = self._compute_for(linear_reference.create_images(5)).trainable
    for array, before in zip(
      found, self.classifier.initial_weights.trainable, strict=True
    ):
      np.testing.assert_array_equal(array, before)

  def test_chunks_do_not_matter(self):
    images = linear_reference.create_images(600)
    labels = np.zeros([600], np.int32)
    # An empty chunk, small ones, and batches across their boundaries.
    chunks = [
      linear_reference.labeled_dataset(images[start:stop], labels[start:stop])
      for start, stop in ((0, 0), (0, 7), (7, 400), (400, 600))
    ]
    dataset = chunks[0]
    for chunk in chunks[1:]:
      dataset = dataset.concatenate(chunk)
    for found, expected in zip(
      self._compute(dataset).non_trainable,
      self._compute_for(images).non_trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected)

  def test_without_images_nothing_changes(self):
    one_empty_chunk = self._compute_for(linear_reference.create_images(0))
    no_chunk = self._compute(
      linear_reference.labeled_dataset(
        linear_reference.create_images(1), np.zeros([1])
      ).take(0)
    )
    for found in (one_empty_chunk, no_chunk):
      for statistic, before in zip(
        found.non_trainable,
        self.classifier.initial_weights.non_trainable,
        strict=True,
      ):
        np.testing.assert_array_equal(statistic, before)


class MomentsTest(absltest.TestCase):
  def test_merged_moments_are_those_of_all_values(self):
    values = np.random.default_rng(0).normal(3, 2, size=(100, 4))
    first, second, third = (
      _moments(part) for part in np.split(values, [1, 30])
    )
    merge = layer_moments.merge_moments
    for merged in (
      merge(merge(first, second), third),
      merge(first, merge(second, third)),
      merge(merge(third, first), second),
    ):
      np.testing.assert_allclose(merged, _moments(values), rtol=1e-4)

  def test_no_values_change_nothing(self):
    moments = _moments(np.random.default_rng(0).normal(3, 2, size=(100, 4)))
    nothing = tf.zeros([3, 4])
    for first, second, expected in (
      (nothing, moments, moments),
      (moments, nothing, moments),
      (nothing, nothing, nothing),
    ):
      np.testing.assert_array_equal(
        layer_moments.merge_moments(first, second), expected
      )

  def test_mean_far_from_zero(self):
    # In float32 the mean of squares, 10^8, has a spacing of 8, and less of it
    # its square leaves nothing of a variance of 4.
    values = np.random.default_rng(0).normal(1e4, 2, size=(1000, 1))
    merged = layer_moments.merge_moments(
      _moments(values[:600]), _moments(values[600:])
    )
    _, mean, variance = layer_moments.unbiased_statistics(merged)
    np.testing.assert_allclose(mean, [values.mean()], rtol=1e-6)
    np.testing.assert_allclose(variance, [values.var(ddof=1)], rtol=1e-3)

  def test_variance_of_a_single_value_is_0(self):
    np.testing.assert_array_equal(
      layer_moments.unbiased_statistics(_moments(np.array([[5.0]]))),
      [[1], [5], [0]],
    )


if __name__ == '__main__':
  absltest.main()
