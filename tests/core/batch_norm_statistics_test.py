# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the statistics of images of the server, of clients or of both."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.core import batch_norm_reference
from tff_semifl.core import batch_norm_statistics


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
    merge = batch_norm_statistics.merge_moments
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
        batch_norm_statistics.merge_moments(first, second), expected
      )

  def test_mean_far_from_zero(self):
    # In float32 the mean of squares, 10^8, has a spacing of 8, and less of it
    # its square leaves nothing of a variance of 4.
    values = np.random.default_rng(0).normal(1e4, 2, size=(1000, 1))
    merged = batch_norm_statistics.merge_moments(
      _moments(values[:600]), _moments(values[600:])
    )
    _, mean, variance = batch_norm_statistics.unbiased_statistics(merged)
    np.testing.assert_allclose(mean, [values.mean()], rtol=1e-6)
    np.testing.assert_allclose(variance, [values.var(ddof=1)], rtol=1e-3)

  def test_variance_of_a_single_value_is_0(self):
    np.testing.assert_array_equal(
      batch_norm_statistics.unbiased_statistics(_moments(np.array([[5.0]]))),
      [[1], [5], [0]],
    )


def _build_pooled(classifier, **options):
  return batch_norm_statistics.build_pooled_batch_norm_statistics(
    classifier, **options
  )


class PooledTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = batch_norm_reference.create_classifier()
    cls.statistics = _build_pooled(cls.classifier)

  def _compute(self, *chunks):
    dataset = tf.data.Dataset.from_tensors(chunks[0])
    for chunk in chunks[1:]:
      dataset = dataset.concatenate(tf.data.Dataset.from_tensors(chunk))
    return self.statistics(
      self.classifier.initial_weights, dataset
    ).non_trainable

  def test_statistics_are_plain_means_over_batches(self):
    # Batches of 250, 250 and 7, of which the last counts as much as another.
    images = linear_reference.create_images(507)
    images[:250] //= 8
    images[500:] //= 2
    expected = []
    for values in zip(*batch_norm_reference.see_batches(images), strict=True):
      self.assertLen(values, 3)
      expected += [
        np.mean([batch.mean(axis=0) for batch in values], axis=0),
        np.mean([batch.var(axis=0, ddof=1) for batch in values], axis=0),
      ]
    for found, value in zip(self._compute(images), expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)

  def test_batches_of_another_size_d11(self):
    """Batches have ten images, as in the final test of few labels."""
    images = linear_reference.create_images(37)
    images[:20] //= 4
    self.statistics = _build_pooled(self.classifier, batch_size=10)
    seen = batch_norm_reference.see_batches(images, batch_size=10)
    self.assertLen(seen, 4)
    expected = [
      np.mean([statistic(batch) for batch in layer], axis=0)
      for layer in zip(*seen, strict=True)
      for statistic in (
        lambda batch: batch.mean(axis=0),
        lambda batch: batch.var(axis=0, ddof=1),
      )
    ]
    for found, value in zip(self._compute(images), expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)

  def test_batches_go_across_the_boundaries_of_chunks(self):
    images = linear_reference.create_images(507)
    images[:100] //= 8
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      self._compute(images[:100], images[:0], images[100:260], images[260:]),
      self._compute(images),
    )

  def test_without_images_nothing_changes(self):
    empty = linear_reference.create_images(0)
    no_chunk = tf.data.Dataset.from_tensors(empty).take(0)
    for dataset in (tf.data.Dataset.from_tensors(empty), no_chunk):
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        self.statistics(self.classifier.initial_weights, dataset),
        self.classifier.initial_weights,
      )


# Images at the clients: none, few, and more than a batch of 250.
_CLIENT_SIZES = (600, 3, 0, 251, 250)


def _build_federated(classifier):
  return batch_norm_statistics.build_federated_batch_norm_statistics(classifier)


def _create_client_images(sizes=_CLIENT_SIZES):
  """Returns images of each client; those of every other client are dark."""
  images = [
    linear_reference.create_images(size, seed=client)
    for client, size in enumerate(sizes)
  ]
  return [array // (1 + 7 * (i % 2)) for i, array in enumerate(images)]


def _client_datasets(client_images):
  return [
    linear_reference.client_dataset(client, images)
    for client, images in enumerate(client_images)
  ]


def _pool(clients):
  """Returns mean and variance by appendix B of SemiFL; [values, channels]."""
  counts = np.array([len(values) for values in clients])[:, np.newaxis]
  means = np.stack([values.mean(axis=0) for values in clients])
  variances = np.stack([values.var(axis=0, ddof=1) for values in clients])
  mean = (counts * means).sum(axis=0) / counts.sum()
  deviations = (counts - 1) * variances + counts * (means - mean) ** 2
  return mean, deviations.sum(axis=0) / (counts.sum() - 1)


class FederatedTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = batch_norm_reference.create_classifier()
    cls.statistics = _build_federated(cls.classifier)

  def test_statistics_are_pooled_by_the_formula_of_the_paper(self):
    classifier = self.classifier
    client_images = _create_client_images()
    weights = self.statistics(
      classifier.initial_weights, _client_datasets(client_images)
    )
    # Batches end at the client's last image: the deeper layer sees no mixture.
    seen = [
      batch_norm_reference.see_all(images)
      for images in client_images
      if len(images)
    ]
    expected = []
    for values in zip(*seen, strict=True):
      expected += _pool(values)
    for found, value in zip(weights.non_trainable, expected, strict=True):
      np.testing.assert_allclose(found, value, rtol=1e-4)
    for found, before in zip(
      weights.trainable, classifier.initial_weights.trainable, strict=True
    ):
      np.testing.assert_array_equal(found, before)

  def test_mean_far_from_zero(self):
    # Pixels of 0 to 3, variance 1.25, on top of 10,000. A sum of squares would
    # be rounded by some 10^8 / 2^24 per value, more than the variance.
    offset = 1e4
    classifier = batch_norm_reference.create_classifier(offset)
    client_images = [images % 4 for images in _create_client_images()]
    mean, variance, *_ = _build_federated(classifier)(
      classifier.initial_weights, _client_datasets(client_images)
    ).non_trainable
    pixels = np.concatenate(client_images).astype(np.float64).ravel() + offset
    np.testing.assert_allclose(mean, [pixels.mean()], rtol=1e-6)
    np.testing.assert_allclose(variance, [pixels.var(ddof=1)], rtol=1e-3)

  def test_one_client_with_the_servers_images_gives_the_servers_statistics(
    self,
  ):
    classifier = self.classifier
    server = batch_norm_statistics.build_server_batch_norm_statistics(
      classifier
    )
    for num_images in (200, 600):
      images = linear_reference.create_images(num_images)
      expected = server(
        classifier.initial_weights,
        linear_reference.labeled_dataset(images, np.zeros([num_images])),
      )
      found = self.statistics(
        classifier.initial_weights,
        # The second client has no image.
        _client_datasets([images, images[:0]]),
      )
      for array, value in zip(
        found.non_trainable, expected.non_trainable, strict=True
      ):
        np.testing.assert_array_equal(array, value)

  def test_client_whose_moments_overflow_is_left_out(self):
    # Squares of 1e17 are finite in float32, of 255e17 they are not.
    classifier = batch_norm_reference.create_classifier(scale=1e17)
    dark, bright = (
      linear_reference.create_images(5) % 2,
      np.full([3, *linear_reference.IMAGE_SHAPE], 255, np.uint8),
    )
    bright[0] = 0
    statistics = _build_federated(classifier)
    expected, found = (
      statistics(classifier.initial_weights, _client_datasets(cohort))
      for cohort in ([dark], [dark, bright])
    )
    for a, b in zip(found.non_trainable, expected.non_trainable, strict=True):
      self.assertTrue(np.all(np.isfinite(b)))
      np.testing.assert_array_equal(a, b)

  def test_without_images_nothing_changes(self):
    statistics, classifier = self.statistics, self.classifier
    empty = linear_reference.create_images(0)
    no_chunk = linear_reference.client_dataset(0, empty).take(0)
    for datasets in ([], _client_datasets([empty, empty]), [no_chunk]):
      weights = statistics(classifier.initial_weights, datasets)
      tf.nest.map_structure(
        np.testing.assert_array_equal, weights, classifier.initial_weights
      )


if __name__ == '__main__':
  absltest.main()
