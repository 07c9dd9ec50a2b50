# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the training of a SemiFL client."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tff_semifl import optimizers
from tff_semifl import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import fix_mix_training
from tff_semifl.work import round_context

_LEARNING_RATE = 0.25
_SEED = 7


@functools.cache
def _build(
  *,
  threshold=0.34,
  mix_loss_weight=1.0,
  num_epochs=2,
  batch_size=2,
  weak=linear_reference.unchanged,
  strong=linear_reference.unchanged,
  keep_optimizer_state=False,
  dropout_rate=0.0,
  **options,
):
  classifier = linear_reference.create_classifier(dropout_rate=dropout_rate)
  optimizer = optimizers.build_nesterov_sgd()
  return client_work.build_client_work(
    classifier,
    fix_mix_training.build_fix_mix_training(
      classifier,
      weak_augmentation=weak,
      strong_augmentation=strong,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      selection_fn=pseudo_labels.at_least(threshold),
      mixup_concentration=0.75,
      mix_loss_weight=mix_loss_weight,
      **options,
    ),
    optimizer=optimizer,
    keep_optimizer_state=keep_optimizer_state,
    max_update_norm_ratio=10.0,
  )


class ComputationTest(absltest.TestCase):
  def test_types(self):
    weights = '<trainable=<float32[4,3],float32[3]>,non_trainable=<>>'
    process = _build()
    self.assertEqual(
      process.next.type_signature.compact_representation(),
      '(<state=<>@SERVER,received={<'
      f'{weights},<seed=int32,round_num=int32,learning_rate=float32,'
      'guidance=<>>'
      '>}@CLIENTS,data={<client_id=int32,image=uint8[?,2,2,1]>*}@CLIENTS> ->'
      ' <state=<>@SERVER,result={<update=<float32[4,3],float32[3]>,'
      'update_weight=float32,memory=<>,given_labels=<>,report=<>>}@CLIENTS,measurements=<loss=float32,'
      'accuracy=float32,label_ratio=float32,num_participating=float32,'
      'num_rejected=float32,weight_diversity=float32,'
      'relative_weight_diversity=float32>@SERVER>)',
    )

  def test_types_if_clients_keep_their_momentum(self):
    """D5: a client's state is placed at the client."""
    process = _build(keep_optimizer_state=True)
    state = '<learning_rate=float32,accumulator=<float32[4,3],float32[3]>>'
    self.assertEqual(
      process.initialize_memory.type_signature.compact_representation(),
      f'( -> {state})',
    )
    types = process.next.type_signature
    self.assertEqual(
      types.parameter[3].compact_representation(), f'{{{state}}}@CLIENTS'
    )
    self.assertEqual(
      types.result.result.compact_representation(),
      '{<update=<float32[4,3],float32[3]>,update_weight=float32,'
      # Given labels are not asked for.
      f'memory={state},given_labels=<>,report=<>>}}@CLIENTS',
    )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.weights = linear_reference.create_classifier().initial_weights
    self.images = linear_reference.create_images(7)
    probabilities = linear_reference.softmax(
      linear_reference.logits(self.weights.trainable, self.images)
    )
    self.confidences = np.sort(probabilities.max(axis=1))
    # Between the second and the third: five of seven are sure enough.
    self.threshold = float(self.confidences[1:3].mean())

  def _next(self, process, clients, weights=None, round_num=1, seed=_SEED):
    context = round_context.RoundContext(seed, round_num, _LEARNING_RATE)
    received = (weights or self.weights, context)
    return process.next(
      process.initialize(),
      [received] * len(clients),
      [
        linear_reference.client_dataset(client_id, images)
        for client_id, images in clients
      ],
    )

  @parameterized.product(
    mix_loss_weight=[0.0, 0.5, 1.0],
    augmentations=[
      (linear_reference.unchanged, linear_reference.unchanged),
      (linear_reference.shifted, linear_reference.inverted),
    ],
    dropout_rate=[0.0, 0.25],
  )
  def test_update_and_loss_equal_numpy(
    self, mix_loss_weight, augmentations, dropout_rate
  ):
    weak, strong = augmentations
    process = _build(
      threshold=self.threshold,
      mix_loss_weight=mix_loss_weight,
      weak=weak,
      strong=strong,
      dropout_rate=dropout_rate,
    )
    output = self._next(process, [(3, self.images)], round_num=4)
    expected = fix_mix_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=4,
      seed=_SEED,
      learning_rate=_LEARNING_RATE,
      num_epochs=2,
      batch_size=2,
      threshold=self.threshold,
      mix_loss_weight=mix_loss_weight,
      weak=weak,
      strong=strong,
      dropout_rate=dropout_rate,
    )
    # Some are sure, some are not, and the last batch is smaller.
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

  @parameterized.named_parameters(
    ('D12', {'soft_labels': True}),
    ('D13', {'mix_once_per_round': True}),
    ('D14', {'mix_before_augmentation': True}),
    (
      'all',
      {
        'soft_labels': True,
        'mix_once_per_round': True,
        'mix_before_augmentation': True,
      },
    ),
  )
  def test_options_equal_numpy_and_matter(self, options):
    def train(**given):
      process = _build(
        threshold=self.threshold, weak=linear_reference.mirrored, **given
      )
      [result] = self._next(process, [(3, self.images)]).result
      return result.update

    expected = fix_mix_reference.train_client(
      self.weights.trainable,
      self.images,
      client_id=3,
      round_num=1,
      seed=_SEED,
      learning_rate=_LEARNING_RATE,
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

  def test_momentum_that_a_client_keeps_equals_numpy(self):
    """D5: the second turn starts with the buffer of the first."""
    process = _build(threshold=self.threshold, keep_optimizer_state=True)
    memory = process.initialize_memory()
    weights, accumulator = self.weights, None
    for round_num in (2, 9):
      output = process.next(
        process.initialize(),
        [(weights, round_context.RoundContext(_SEED, round_num, 0.1))],
        [linear_reference.client_dataset(3, self.images)],
        [memory],
      )
      expected = fix_mix_reference.train_client(
        weights.trainable,
        self.images,
        client_id=3,
        round_num=round_num,
        seed=_SEED,
        learning_rate=0.1,
        num_epochs=2,
        batch_size=2,
        threshold=self.threshold,
        mix_loss_weight=1.0,
        accumulator=accumulator,
      )
      [result] = output.result
      memory, accumulator = result.memory, expected.accumulator
      for found, wanted in zip(memory['accumulator'], accumulator, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
      linear_reference.assert_is_update(
        result.update, weights.trainable, expected.weights
      )

  def test_client_that_does_not_train_keeps_its_momentum(self):
    def overflow(images, seed):
      del seed  # Unused.
      return tf.cast(images, tf.float32) * np.inf

    state = {
      'learning_rate': np.float32(0),
      'accumulator': [np.ones([4, 3], np.float32), np.ones([3], np.float32)],
    }
    # Sure of nothing (A.11), or trained to what is not finite.
    for process in (
      _build(threshold=1.0, keep_optimizer_state=True),
      _build(strong=overflow, keep_optimizer_state=True),
    ):
      context = round_context.RoundContext(_SEED, 1, _LEARNING_RATE)
      output = process.next(
        process.initialize(),
        [(self.weights, context)],
        [linear_reference.client_dataset(0, self.images)],
        [state],
      )
      [result] = output.result
      self.assertEqual(result.update_weight, 0.0)
      for array in result.memory['accumulator']:
        np.testing.assert_array_equal(array, np.ones_like(array))

  def test_client_without_confident_image_is_left_out(self):
    sure = self.images[
      linear_reference.softmax(
        linear_reference.logits(self.weights.trainable, self.images)
      ).max(axis=1)
      >= self.threshold
    ]
    unsure = self.images[:1] * 0 + np.uint8(1)
    process = _build(threshold=self.threshold)
    alone = self._next(process, [(0, sure)])
    output = self._next(process, [(0, sure), (1, unsure)])
    self.assertEqual([r.update_weight for r in output.result], [1.0, 0.0])
    for update in output.result[1].update:
      np.testing.assert_array_equal(update, np.zeros_like(update))
    self.assertEqual(output.measurements['num_participating'], 1.0)
    # It has no loss to add, but its image counts among the unlabeled (A.14).
    self.assertEqual(output.measurements['loss'], alone.measurements['loss'])
    self.assertAlmostEqual(
      output.measurements['label_ratio'],
      len(sure) / (len(sure) + 1),
      places=6,
    )

  def test_no_clients_and_no_images(self):
    process = _build()
    for clients in ([], [(0, self.images[:0])]):
      output = self._next(process, clients)
      measured = dict(output.measurements)
      self.assertEqual(measured.pop('num_participating'), 0)
      self.assertEqual(measured.pop('num_rejected'), 0)
      # Not 0, as if it had been measured.
      for name, value in measured.items():
        self.assertTrue(np.isnan(value), name)

  def test_threshold_is_inclusive(self):
    # A bias far above the others gives a probability of exactly one.
    kernel = np.zeros([4, 3], np.float32)
    bias = np.array([1000, 0, 0], np.float32)
    weights = functional.ModelWeights((kernel, bias), ())
    output = self._next(
      _build(threshold=1.0), [(0, self.images)], weights=weights
    )
    self.assertEqual(output.measurements['label_ratio'], 1.0)

  def test_update_that_is_not_finite_counts_for_nothing(self):
    # The labels are sound; the views that are trained on are not.
    def overflow(images, seed):
      del seed  # Unused.
      return tf.cast(images, tf.float32) * np.inf

    process = _build(threshold=self.threshold, strong=overflow)
    output = self._next(process, [(0, self.images)])
    [result] = output.result
    self.assertEqual(result.update_weight, 0.0)
    for update in result.update:
      np.testing.assert_array_equal(update, np.zeros_like(update))
    measured = dict(output.measurements)
    self.assertEqual(measured.pop('num_participating'), 0)
    self.assertEqual(measured.pop('num_rejected'), 1)
    # Its measurements are in no sum, and there is no other client.
    for name, value in measured.items():
      self.assertTrue(np.isnan(value), name)

  def test_single_example_trains(self):
    output = self._next(_build(batch_size=10), [(0, self.images[:1])])
    self.assertEqual(output.measurements['num_participating'], 1.0)
    self.assertGreater(np.abs(output.result[0].update[0]).max(), 0)

  def test_views_are_fresh_by_round_client_and_epoch_and_repeat(self):
    # One batch of the same image four times, so that no order matters and the
    # strong views alone make a difference; a rate of 0, so that they alone do.
    images = np.repeat(self.images[-1:], 4, axis=0)

    def loss(num_epochs=1, client_id=0, round_num=1, seed=_SEED):
      process = _build(
        num_epochs=num_epochs,
        batch_size=4,
        mix_loss_weight=0.0,
        strong=linear_reference.shifted,
      )
      context = round_context.RoundContext(seed, round_num, 0.0)
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
