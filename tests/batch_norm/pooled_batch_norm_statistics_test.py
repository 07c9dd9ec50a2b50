# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the statistics as the authors' code computes them."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.training import batch_norm_reference
from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.batch_norm import pooled_batch_norm_statistics


def _build(classifier, **options):
  return pooled_batch_norm_statistics.build_pooled_batch_norm_statistics(
    classifier, **options
  )


class ComputationTest(absltest.TestCase):
  def test_types(self):
    weights = batch_norm_reference.WEIGHTS_TYPE
    statistics = _build(batch_norm_reference.create_classifier())
    self.assertEqual(
      statistics.type_signature.compact_representation(),
      f'(<weights={weights}@SERVER,dataset=uint8[?,2,2,1]*@SERVER> ->'
      f' {weights}@SERVER)',
    )

  def test_model_without_layers_is_refused(self):
    with self.assertRaisesRegex(
      ValueError, 'has no static batch normalization'
    ):
      _build(linear_reference.create_classifier())


class ExecutionTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.classifier = batch_norm_reference.create_classifier()
    cls.statistics = _build(cls.classifier)

  def _compute(self, *chunks):
    dataset = tf.data.Dataset.from_tensors(chunks[0])
    for chunk in chunks[1:]:
      dataset = dataset.concatenate(tf.data.Dataset.from_tensors(chunk))
    return self.statistics(
      self.classifier.initial_weights, dataset
    ).non_trainable

  def _compute_exactly(self, images):
    """Returns the statistics by appendix B of SemiFL."""
    server = batch_norm_statistics.build_server_batch_norm_statistics(
      self.classifier
    )
    return server(
      self.classifier.initial_weights,
      linear_reference.labeled_dataset(images, np.zeros([len(images)])),
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
    self.statistics = _build(self.classifier, batch_size=10)
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

  def test_single_batch_gives_the_exact_statistics(self):
    images = linear_reference.create_images(250)
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      self._compute(images),
      self._compute_exactly(images),
    )

  def test_variance_of_batches_of_one_class_is_too_small(self):
    # D8. Of two batches of n values with means a and b and variances v and w,
    # the variance of all is
    #   ((n - 1) (v + w) + n/2 (a - b)^2) / (2n - 1)
    # and the mean of batch variances (v + w) / 2: less than that by
    #   (n (a - b)^2 - (v + w)) / (2 (2n - 1)).
    images = linear_reference.create_images(500) // 4
    images[250:] += 100
    first, second = images.reshape(2, -1).astype(np.float64)
    n = first.size
    self.assertEqual(n, 250 * 2 * 2)
    missing = (
      n * (first.mean() - second.mean()) ** 2
      - (first.var(ddof=1) + second.var(ddof=1))
    ) / (2 * (2 * n - 1))
    mean, variance, *_ = self._compute(images)
    exact_mean, exact_variance, *_ = self._compute_exactly(images)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-5)
    np.testing.assert_allclose(exact_variance - variance, missing, rtol=1e-4)
    # This is no rounding error: nearly nine tenths are missing.
    self.assertLess(variance[0], 0.15 * exact_variance[0])

  def test_variance_of_batches_of_one_value_each_is_nought(self):
    # 250 images of 50, then 250 of 150: n = 1,000, (a - b)^2 = 10,000, v and w
    # are 0, so that 1,000 * 10,000 / (2 * 1,999) are missing, that is all.
    images = np.full([500, *linear_reference.IMAGE_SHAPE], 50, np.uint8)
    images[250:] = 150
    _, variance, *_ = self._compute(images)
    _, exact_variance, *_ = self._compute_exactly(images)
    np.testing.assert_allclose(exact_variance, [1e7 / 3998], rtol=1e-5)
    np.testing.assert_array_equal(variance, [0])

  def test_without_images_nothing_changes(self):
    empty = linear_reference.create_images(0)
    no_chunk = tf.data.Dataset.from_tensors(empty).take(0)
    for dataset in (tf.data.Dataset.from_tensors(empty), no_chunk):
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        self.statistics(self.classifier.initial_weights, dataset),
        self.classifier.initial_weights,
      )


if __name__ == '__main__':
  absltest.main()
