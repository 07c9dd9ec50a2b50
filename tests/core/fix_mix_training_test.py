# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the training of a SemiFL client."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests.core import fix_mix_client
from tff_semifl.core import federated_process


class ExecutionTest(fix_mix_client.FixMixClientTestCase):
  @parameterized.parameters((0.0, 0.0), (0.5, 0.25))
  def test_update_and_loss_equal_numpy(self, mix_loss_weight, dropout_rate):
    weak, strong = linear_reference.shifted, linear_reference.inverted
    process = fix_mix_client.build(
      threshold=self.threshold,
      mix_loss_weight=mix_loss_weight,
      weak=weak,
      strong=strong,
      dropout_rate=dropout_rate,
    )
    output = self.next(process, [(3, self.images)], round_num=4)
    expected = fix_mix_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=4,
      seed=fix_mix_client.SEED,
      learning_rate=fix_mix_client.LEARNING_RATE,
      num_epochs=2,
      batch_size=2,
      threshold=self.threshold,
      mix_loss_weight=mix_loss_weight,
      weak=weak,
      strong=strong,
      dropout_rate=dropout_rate,
    )
    # Some images are confident, some are not, and the last batch is smaller.
    self.assertBetween(expected.num_confident, 3, 6)
    [result] = output.result
    linear_reference.assert_is_update(
      result.update, self.weights.trainable, expected.weights
    )
    self.assertEqual(result.update_weight, 1.0)
    metrics = output.measurements
    self.assertAlmostEqual(
      metrics['loss'], expected.loss_sum / expected.num_examples, places=5
    )
    self.assertAlmostEqual(
      metrics['accuracy'],
      expected.num_correct / expected.num_examples,
      places=6,
    )
    self.assertAlmostEqual(
      metrics['label_ratio'], expected.num_confident / 7, places=6
    )
    self.assertEqual(metrics['num_participating'], 1.0)

  def test_highest_confidence_is_a_mean_over_clients_with_images(self):
    process = fix_mix_client.build(threshold=1.0)
    few = self.images[:2]
    probabilities = linear_reference.softmax(
      linear_reference.logits(self.weights.trainable, few)
    )
    # The threshold is above all: it is that of images that are left out, too.
    output = self.next(process, [(3, self.images), (1, few), (2, few[:0])])
    self.assertEqual(output.measurements['label_ratio'], 0.0)
    self.assertAlmostEqual(
      output.measurements['highest_confidence'],
      (self.confidences.max() + probabilities.max()) / 2,
      places=6,
    )

  @parameterized.named_parameters(
    ('D12', {'soft_labels': True}),
    (
      'D13_and_D14',
      {'mix_once_per_round': True, 'mix_before_augmentation': True},
    ),
  )
  def test_options_equal_numpy_and_matter(self, options):
    def train(**given):
      given['soft_pseudo_labels'] = given.pop('soft_labels', False)
      process = fix_mix_client.build(
        threshold=self.threshold, weak=linear_reference.mirrored, **given
      )
      [result] = self.next(process, [(3, self.images)]).result
      return result.update

    expected = fix_mix_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=1,
      seed=fix_mix_client.SEED,
      learning_rate=fix_mix_client.LEARNING_RATE,
      num_epochs=2,
      batch_size=2,
      threshold=self.threshold,
      mix_loss_weight=1.0,
      weak=linear_reference.mirrored,
      **options,
    )
    update = train(**options)
    linear_reference.assert_is_update(
      update, self.weights.trainable, expected.weights
    )
    self.assertGreater(np.abs(update[0] - train()[0]).max(), 1e-4)

  def test_client_without_confident_image_is_left_out(self):
    sure = self.images[
      linear_reference.softmax(
        linear_reference.logits(self.weights.trainable, self.images)
      ).max(axis=1)
      >= self.threshold
    ]
    unsure = self.images[:1] * 0 + np.uint8(1)
    process = fix_mix_client.build(threshold=self.threshold)
    alone = self.next(process, [(0, sure)])
    output = self.next(process, [(0, sure), (1, unsure)])
    self.assertEqual([r.update_weight for r in output.result], [1.0, 0.0])
    for update in output.result[1].update:
      np.testing.assert_array_equal(update, np.zeros_like(update))
    self.assertEqual(output.measurements['num_participating'], 1.0)
    # This client adds no loss, but counts its unlabeled image (A.14).
    self.assertEqual(output.measurements['loss'], alone.measurements['loss'])
    self.assertAlmostEqual(
      output.measurements['label_ratio'], len(sure) / (len(sure) + 1), places=6
    )

  def test_client_that_is_sure_of_nothing_keeps_its_momentum(self):
    """A.11."""
    process = fix_mix_client.build(threshold=1.0, keep_optimizer_state=True)
    state = {
      'learning_rate': np.float32(0),
      'accumulator': [np.ones([4, 3], np.float32), np.ones([3], np.float32)],
    }
    context = federated_process.RoundContext(fix_mix_client.SEED, 1, 0.25)
    [result] = process.next(
      process.initialize(),
      [(self.weights, context)],
      [linear_reference.client_dataset(0, self.images)],
      [state],
    ).result
    self.assertEqual(result.update_weight, 0.0)
    for array in result.memory['accumulator']:
      np.testing.assert_array_equal(array, np.ones_like(array))

  def test_no_clients_and_no_images(self):
    process = fix_mix_client.build()
    for clients in ([], [(0, self.images[:0])]):
      output = self.next(process, clients)
      measured = dict(output.measurements)
      self.assertEqual(measured.pop('num_participating'), 0)
      self.assertEqual(measured.pop('num_rejected'), 0)
      # NaN, not 0 as if it had been measured.
      for name, value in measured.items():
        self.assertTrue(np.isnan(value), name)

  def test_update_that_is_not_finite_counts_for_nothing(self):
    # The labels are sound; the views that are trained on are not.
    def overflow(images, seed):
      del seed  # Unused.
      return tf.cast(images, tf.float32) * np.inf

    process = fix_mix_client.build(threshold=self.threshold, strong=overflow)
    output = self.next(process, [(0, self.images)])
    [result] = output.result
    self.assertEqual(result.update_weight, 0.0)
    for update in result.update:
      np.testing.assert_array_equal(update, np.zeros_like(update))
    measured = dict(output.measurements)
    self.assertEqual(measured.pop('num_participating'), 0)
    self.assertEqual(measured.pop('num_rejected'), 1)
    # The only client was rejected, so that no sum has its measurements.
    for name, value in measured.items():
      self.assertTrue(np.isnan(value), name)

  def test_views_are_fresh_by_round_client_and_epoch_and_repeat(self):
    # One batch of the same image four times, so that no order matters and the
    # strong views alone make a difference; a rate of 0, so that they alone do.
    images = np.repeat(self.images[-1:], 4, axis=0)

    def loss(num_epochs=1, client_id=0, round_num=1, seed=fix_mix_client.SEED):
      process = fix_mix_client.build(
        num_epochs=num_epochs,
        batch_size=4,
        mix_loss_weight=0.0,
        strong=linear_reference.shifted,
      )
      context = federated_process.RoundContext(seed, round_num, 0.0)
      output = process.next(
        process.initialize(),
        [(self.weights, context)],
        [linear_reference.client_dataset(client_id, images)],
      )
      self.assertEqual(output.measurements['label_ratio'], 1.0)
      return output.measurements['loss']

    self.assertEqual(loss(), loss())
    for other in (
      {'client_id': 1},
      {'round_num': 2},
      {'seed': 8},
      {'num_epochs': 2},
    ):
      self.assertNotEqual(loss(), loss(**other))


if __name__ == '__main__':
  absltest.main()
