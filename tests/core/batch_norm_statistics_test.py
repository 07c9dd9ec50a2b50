# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of batch statistics of images of the server, of clients or of both."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tff_semifl.core import batch_norm_statistics as statistics_lib
from tff_semifl.core import statistics_passes
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

_KERNEL = np.array([[1.0, -2.0]])


@functools.cache
def _create_classifier(scale=1.0):
  """Creates a model with two normalization layers."""
  return functional.from_keras(
    tf.keras.Sequential(
      [
        tf.keras.Input(linear_reference.IMAGE_SHAPE),
        tf.keras.layers.Rescaling(scale),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.ReLU(),
        tf.keras.layers.Dense(
          2, kernel_initializer=tf.keras.initializers.Constant(_KERNEL)
        ),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3),
      ]
    )
  )


def _see_batches(images, batch_size=250):
  """The batches of each layer's inputs, float64 [values, channels]."""
  seen = [], []
  for start in range(0, len(images), batch_size):
    batch = images[start : start + batch_size]
    pixels = batch.reshape(-1, 1).astype(np.float64)
    # Normalized by the biased variance of the batch, with epsilon 1e-5.
    normalized = (pixels - pixels.mean()) / np.sqrt(pixels.var() + 1e-5)
    seen[0].append(pixels)
    seen[1].append(np.maximum(normalized, 0) @ _KERNEL)
  return seen


def _moments(values):
  """The moments of float64 [values, channels], as float32 [3, channels]."""
  mean = values.mean(axis=0)
  deviations = ((values - mean) ** 2).sum(axis=0)
  count = np.full_like(mean, len(values))
  return np.stack([count, mean, deviations]).astype(np.float32)


class MomentsTest(absltest.TestCase):
  def test_merged_moments_are_those_of_all_values(self):
    values = np.random.default_rng(0).normal(3, 2, size=(100, 4))
    first, second, third = map(_moments, np.split(values, [1, 30]))
    nothing = tf.zeros([3, 4])
    merge = statistics_lib.merge_moments
    for merged in (
      merge(merge(first, second), third),
      merge(first, merge(second, third)),
      merge(merge(third, first), merge(second, nothing)),
      merge(nothing, _moments(values)),
    ):
      np.testing.assert_allclose(merged, _moments(values), rtol=1e-4)
    np.testing.assert_array_equal(merge(nothing, nothing), nothing)

  def test_mean_far_from_zero(self):
    # In float32 the mean of squares, 10^8, has a spacing of 8. Subtracting the
    # squared mean would leave nothing of a variance of 4.
    values = np.random.default_rng(0).normal(1e4, 2, size=(1000, 1))
    merged = statistics_lib.merge_moments(
      _moments(values[:600]), _moments(values[600:])
    )
    _, mean, variance = statistics_lib.unbiased_statistics(merged)
    np.testing.assert_allclose(mean, [values.mean()], rtol=1e-6)
    np.testing.assert_allclose(variance, [values.var(ddof=1)], rtol=1e-3)

  def test_variance_of_a_single_value_is_0(self):
    np.testing.assert_array_equal(
      statistics_lib.unbiased_statistics(_moments(np.array([[5.0]]))),
      [[1], [5], [0]],
    )


def _join(parts, to_chunk):
  """A dataset of chunks, of which the first is empty."""
  dataset = to_chunk(parts[0][:0])
  for part in parts:
    dataset = dataset.concatenate(to_chunk(part))
  return dataset


def _to_labeled(images):
  return linear_reference.labeled_dataset(images, np.zeros([len(images)]))


class AtServerTest(simulation_test_case.SimulationTestCase):
  def _check(self, statistics, classifier, dataset, expected):
    weights = statistics(classifier.initial_weights, dataset)
    for found, value in zip(weights.non_trainable, expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      weights.trainable,
      classifier.initial_weights.trainable,
    )

  def test_each_layer_has_mean_and_unbiased_variance_of_all_images(self):
    classifier = _create_classifier()
    statistics = statistics_passes.build_server_pass(classifier)
    # Batches of 250, 250 and 100 images that differ: half of the images are
    # dark. The mean of batch variances would be far from the variance.
    images = linear_reference.create_images(600)
    images[:300] //= 8
    expected = []
    for batches in _see_batches(images):
      values = np.concatenate(batches)
      expected += [values.mean(axis=0), values.var(axis=0, ddof=1)]
    # Batches cross the boundaries of chunks.
    parts = np.split(images, [7, 400])
    self._check(statistics, classifier, _join(parts, _to_labeled), expected)
    for dataset in (_to_labeled(images[:0]), _to_labeled(images[:1]).take(0)):
      self._check(
        statistics,
        classifier,
        dataset,
        classifier.initial_weights.non_trainable,
      )

  @parameterized.parameters((250, 507), (10, 37))
  def test_pooled_statistics_are_plain_means_over_batches_d11(
    self, batch_size, number
  ):
    classifier = _create_classifier()
    statistics = statistics_passes.build_pooled_pass(
      classifier, batch_size=batch_size
    )
    # The last batch has seven images, and counts as much as the others.
    images = linear_reference.create_images(number)
    images[: number // 2] //= 8
    images[-7:] //= 2
    expected = []
    for batches in _see_batches(images, batch_size):
      expected += [
        np.mean([batch.mean(axis=0) for batch in batches], axis=0),
        np.mean([batch.var(axis=0, ddof=1) for batch in batches], axis=0),
      ]
    parts = np.split(images, [number // 5, number // 2])
    to_chunk = tf.data.Dataset.from_tensors
    self._check(statistics, classifier, _join(parts, to_chunk), expected)
    self._check(
      statistics,
      classifier,
      to_chunk(images[:0]),
      classifier.initial_weights.non_trainable,
    )


def _client_datasets(client_images):
  return [
    linear_reference.client_dataset(client, images)
    for client, images in enumerate(client_images)
  ]


class FederatedTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = _create_classifier()
    cls.statistics = statistics_passes.build_federated_pass(cls.classifier)

  def test_statistics_are_pooled_by_the_formula_of_the_paper(self):
    # Clients with no image, few images, and more images than a batch. Every
    # other client has dark images.
    client_images = [
      linear_reference.create_images(size, seed=i) // (1 + 7 * (i % 2))
      for i, size in enumerate((600, 3, 0, 251, 250))
    ]
    weights = self.statistics(
      self.classifier.initial_weights, _client_datasets(client_images)
    )
    # A client's last batch ends at its last image: the deeper layer has no
    # mixture of clients.
    seen = [_see_batches(images) for images in client_images if len(images)]
    expected = []
    for layer in zip(*seen, strict=True):
      clients = [np.concatenate(batches) for batches in layer]
      counts = np.array([len(values) for values in clients])[:, np.newaxis]
      means = np.stack([values.mean(axis=0) for values in clients])
      variances = np.stack([values.var(axis=0, ddof=1) for values in clients])
      mean = (counts * means).sum(axis=0) / counts.sum()
      deviations = (counts - 1) * variances + counts * (means - mean) ** 2
      expected += [mean, deviations.sum(axis=0) / (counts.sum() - 1)]
    for found, value in zip(weights.non_trainable, expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)

  def test_client_whose_moments_overflow_is_left_out(self):
    # Squares of 1e17 are finite in float32, squares of 255e17 are not.
    classifier = _create_classifier(scale=1e17)
    dark, bright = (
      linear_reference.create_images(5) % 2,
      np.full([3, *linear_reference.IMAGE_SHAPE], 255, np.uint8),
    )
    bright[0] = 0
    statistics = statistics_passes.build_federated_pass(classifier)
    expected, found = (
      statistics(classifier.initial_weights, _client_datasets(cohort))
      for cohort in ([dark], [dark, bright])
    )
    for a, b in zip(found.non_trainable, expected.non_trainable, strict=True):
      self.assertTrue(np.all(np.isfinite(b)))
      np.testing.assert_array_equal(a, b)

  def test_without_images_nothing_changes(self):
    empty = linear_reference.create_images(0)
    no_chunk = linear_reference.client_dataset(0, empty).take(0)
    for datasets in ([], _client_datasets([empty, empty]), [no_chunk]):
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        self.statistics(self.classifier.initial_weights, datasets),
        self.classifier.initial_weights,
      )


if __name__ == '__main__':
  absltest.main()
