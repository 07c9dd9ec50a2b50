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


def _build(classifier, **options):
  return batch_norm_statistics.build_pooled_batch_norm_statistics(
    classifier, **options
  )


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
