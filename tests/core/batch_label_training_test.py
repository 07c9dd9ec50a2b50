# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of client work that labels batch by batch (D.3, D34, D36)."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import batch_label_reference
from tests import given_labels_reference
from tests import linear_reference
from tests import placed_work
from tests import simulation_test_case
from tff_semifl import settings
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import client_update
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

_SEED = 7
_LEARNING_RATE = 1.0


def _build(
  classifier,
  *,
  threshold,
  weak=linear_reference.unchanged,
  strong=linear_reference.unchanged,
  **options,
):
  optimizer = optimizers.build_nesterov_sgd()
  work = client_work.build_client_work(
    classifier,
    client_update.build_local_training(
      settings.change(
        fix_mix.LabelEachBatch(), {'confidence_threshold': threshold}
      ),
      client_update.Training(
        model=classifier,
        weak_augmentation=weak,
        strong_augmentation=strong,
        optimizer=optimizer,
        num_epochs=2,
        batch_size=2,
      ),
    ),
    optimizer=optimizer,
    keep_optimizer_state=False,
    max_update_norm_ratio=10.0,
    **options,
  )
  return placed_work.ClientProcess(classifier, work)


def _next(process, weights, images):
  return process.next(
    process.initialize(),
    [(weights, federated_process.RoundContext(_SEED, 4, _LEARNING_RATE))],
    [linear_reference.client_dataset(3, images)],
  )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    self.weights = self.classifier.initial_weights
    # The model is less sure of the dark ones.
    self.images = linear_reference.create_images(12)
    self.images[:6] //= 8

  def test_update_and_metrics_equal_numpy(self):
    weak, strong = linear_reference.shifted, linear_reference.inverted
    threshold = 0.365
    process = _build(
      self.classifier, threshold=threshold, weak=weak, strong=strong
    )
    output = _next(process, self.weights, self.images)
    expected = batch_label_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=4,
      seed=_SEED,
      learning_rate=_LEARNING_RATE,
      num_epochs=2,
      batch_size=2,
      threshold=threshold,
      weak=weak,
      strong=strong,
    )
    # In some batches no image is selected, and in some only one of two.
    self.assertGreater(expected.num_skipped, 0)
    self.assertGreater(expected.num_confident, 3)
    self.assertGreater(2 * (12 - expected.num_skipped), expected.num_confident)
    [result] = output.result
    process = _build(
      self.classifier,
      threshold=threshold,
      weak=weak,
      strong=strong,
      return_given_labels=True,
    )
    [labeling] = _next(process, self.weights, self.images).result
    given_labels_reference.assert_given(labeling.given_labels, expected.labeled)
    for a, b in zip(labeling.update, result.update, strict=True):
      np.testing.assert_array_equal(a, b)
    linear_reference.assert_is_update(
      result.update, self.weights.trainable, expected.weights
    )
    metrics = output.measurements
    self.assertEqual(expected.num_labeled, 24)
    self.assertAlmostEqual(
      metrics['label_ratio'], expected.num_confident / 24, places=6
    )
    self.assertAlmostEqual(
      metrics['loss'], expected.loss_sum / expected.num_confident, places=5
    )
    self.assertAlmostEqual(
      metrics['accuracy'],
      expected.num_correct / expected.num_confident,
      places=6,
    )

  def test_views_are_dropped_in_training_and_not_for_labels(self):
    classifier = linear_reference.create_classifier(dropout_rate=0.25)
    process = _build(classifier, threshold=0.36)
    [result] = _next(process, self.weights, self.images).result
    expected = batch_label_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=4,
      seed=_SEED,
      learning_rate=_LEARNING_RATE,
      num_epochs=2,
      batch_size=2,
      threshold=0.36,
      dropout_rate=0.25,
    )
    self.assertGreater(expected.num_confident, 3)
    linear_reference.assert_is_update(
      result.update, self.weights.trainable, expected.weights
    )

  def test_client_that_is_sure_of_nothing_counts_with_no_change(self):
    """D36: a client without a confident image counts, too."""
    output = _next(
      _build(self.classifier, threshold=1.0), self.weights, self.images
    )
    [result] = output.result
    self.assertEqual(result.update_weight, 1.0)
    for array in result.update:
      np.testing.assert_array_equal(array, np.zeros_like(array))
    self.assertEqual(output.measurements['num_participating'], 1.0)
    self.assertEqual(output.measurements['label_ratio'], 0.0)

  def test_client_without_images_does_not_count(self):
    output = _next(
      _build(self.classifier, threshold=0.1), self.weights, self.images[:0]
    )
    self.assertEqual(output.result[0].update_weight, 0.0)

  def test_labels_are_by_the_statistics_of_the_batch(self):
    """D34: statistics that were received with the model have no effect."""
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(
            linear_reference.NUM_CLASSES,
            kernel_initializer=tf.keras.initializers.GlorotUniform(seed=0),
          ),
        ]
      )
    )
    process = _build(classifier, threshold=0.5)
    weights = classifier.initial_weights
    mean, variance = weights.non_trainable
    updates = [
      _next(process, received, self.images).result[0].update
      for received in (
        weights,
        weights._replace(non_trainable=(mean + 100, variance * 7)),
      )
    ]
    for a, b in zip(*updates, strict=True):
      np.testing.assert_array_equal(a, b)
    self.assertGreater(np.abs(updates[0][2]).max(), 0)


if __name__ == '__main__':
  absltest.main()
