# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the statistics that clients compute together."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.training import batch_norm_reference
from tff_semifl.batch_norm import batch_norm_statistics

# Images at the clients: none, few, and more than a batch of 250.
_CLIENT_SIZES = (600, 3, 0, 251, 250)


def _build(classifier):
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


class ExecutionTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = batch_norm_reference.create_classifier()
    cls.statistics = _build(cls.classifier)

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
    mean, variance, *_ = _build(classifier)(
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
    statistics = _build(classifier)
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
