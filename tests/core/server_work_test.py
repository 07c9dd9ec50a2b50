# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of server work."""

import functools

from absl.testing import absltest
import numpy as np
from scipy import special
import tensorflow as tf

from tests import linear_reference
from tests import placed_work
from tests import simulation_test_case
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import rows
from tff_semifl.core import server_work
from tff_semifl.randomness import random_seeds

_LEARNING_RATE = 0.25


@functools.cache
def _build(
  num_epochs=2, batch_size=2, weak=linear_reference.unchanged, **balance
):
  classifier = linear_reference.create_classifier()
  optimizer = optimizers.build_nesterov_sgd()
  work = server_work.build_server_work(
    classifier,
    server_work.SupervisedTraining(
      classifier=classifier,
      weak_augmentation=weak,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      **balance,
    ),
    optimizer=optimizer,
  )
  return placed_work.server_process(classifier, work)


def _context(round_num, seed=7):
  return federated_process.RoundContext(seed, round_num, _LEARNING_RATE)


def _order(num_images, round_num, epoch, seed=7):
  """Returns the order in which an epoch visits the images."""
  return linear_reference.order(
    num_images, seed, random_seeds.Purpose.SERVER_ORDER, round_num, epoch
  )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    self.weights = self.classifier.initial_weights
    self.images = linear_reference.create_images(5)
    self.labels = np.array([0, 1, 2, 1, 0])
    self.dataset = linear_reference.labeled_dataset(self.images, self.labels)

  def _train_in_numpy(self, sgd, round_num):
    """Takes two epochs in batches of 2, 2 and 1; returns the mean loss."""
    losses = []
    for epoch in range(2):
      order = _order(5, round_num, epoch)
      for batch in (order[:2], order[2:4], order[4:]):
        loss = sgd.step((1.0, self.images[batch], self.labels[batch]))
        losses.append(loss * len(batch))
    return sum(losses) / 10

  def test_two_rounds_equal_numpy_with_momentum_kept(self):
    process = _build()
    state, weights = process.initialize(), self.weights
    sgd = linear_reference.NumpySGD(weights.trainable, _LEARNING_RATE)
    for round_num in (1, 2):
      output = process.next(state, weights, _context(round_num), self.dataset)
      state, weights = output.state, output.result
      expected_loss = self._train_in_numpy(sgd, round_num)
      for found, expected in zip(weights.trainable, sgd.weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
      for found, expected in zip(
        state['accumulator'], sgd.accumulator, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
      self.assertAlmostEqual(
        output.measurements['loss'], expected_loss, places=5
      )
    self.assertAlmostEqual(state['learning_rate'], _LEARNING_RATE)

  def test_chunks_make_no_difference(self):
    process = _build()
    arguments = process.initialize(), self.weights, _context(1)
    whole = process.next(*arguments, self.dataset)
    cut = process.next(*arguments, self.dataset.unbatch().batch(2))
    for a, b in zip(whole.result.trainable, cut.result.trainable, strict=True):
      np.testing.assert_array_equal(a, b)

  def test_no_epochs_or_no_images_change_nothing(self):
    no_images = linear_reference.labeled_dataset(
      self.images[:0], self.labels[:0]
    )
    for process, dataset in (
      (_build(num_epochs=0), self.dataset),
      (_build(), no_images),
    ):
      output = process.next(
        process.initialize(), self.weights, _context(1), dataset
      )
      for found, expected in zip(
        output.result.trainable, self.weights.trainable, strict=True
      ):
        np.testing.assert_array_equal(found, expected)
      self.assertTrue(np.isnan(output.measurements['loss']))
      self.assertTrue(np.isnan(output.measurements['accuracy']))

  def test_accuracy_counts_right_predictions(self):
    # With a learning rate of zero every epoch has the same number correct.
    process = _build()
    context = federated_process.RoundContext(7, 1, 0.0)
    output = process.next(
      process.initialize(), self.weights, context, self.dataset
    )
    predictions = linear_reference.logits(
      self.weights.trainable, self.images
    ).argmax(axis=1)
    self.assertAlmostEqual(
      output.measurements['accuracy'],
      np.mean(predictions == self.labels),
      places=6,
    )

  def _loss_of_all(self, **balance):
    """Returns the loss of an epoch in one batch, of weights that stay."""
    process = _build(num_epochs=1, batch_size=5, **balance)
    context = federated_process.RoundContext(7, 1, 0.0)
    return process.next(
      process.initialize(), self.weights, context, self.dataset
    ).measurements['loss']

  def _losses(self, offset=0.0):
    """Returns the cross-entropy of each image, in NumPy."""
    logits = linear_reference.logits(self.weights.trainable, self.images)
    return -special.log_softmax(logits + offset, axis=1)[
      np.arange(5), self.labels
    ]

  def test_logit_adjustment_adds_logarithms_of_class_shares(self):
    offset = 0.5 * np.log([2 / 5, 2 / 5, 1 / 5])
    self.assertAlmostEqual(
      self._loss_of_all(logit_adjustment=0.5),
      self._losses(offset).mean(),
      places=5,
    )

  def test_balanced_epochs_are_drawn(self):
    drawn = server_work.draw_balanced(
      rows.Rows((tf.range(5),)),
      tf.constant(self.labels, tf.int32),
      random_seeds.stateless_seed(7, random_seeds.Purpose.SERVER_ORDER, 1, 0),
    ).examples[0]
    self.assertAlmostEqual(
      self._loss_of_all(is_balanced=True),
      self._losses()[drawn].mean(),
      places=5,
    )

  def test_views_differ_between_rounds_and_epochs_and_repeat(self):
    # Views that are the same noise everywhere, so the loss tells them apart;
    # one batch of all, so the order does not.
    def noise(images, seed):
      return tf.cast(
        tf.random.stateless_uniform(
          tf.shape(images)[1:], seed, maxval=256, dtype=tf.int32
        )
        + tf.zeros(tf.shape(images), tf.int32),
        tf.uint8,
      )

    process = _build(num_epochs=1, batch_size=5, weak=noise)
    two_epochs = _build(num_epochs=2, batch_size=5, weak=noise)
    state = process.initialize()

    def loss(process, round_num, seed=7):
      context = federated_process.RoundContext(seed, round_num, 0.0)
      output = process.next(state, self.weights, context, self.dataset)
      return output.measurements['loss']

    self.assertEqual(loss(process, 1), loss(process, 1))
    self.assertNotEqual(loss(process, 1), loss(process, 2))
    self.assertNotEqual(loss(process, 1), loss(process, 1, seed=8))
    self.assertNotEqual(loss(process, 1), loss(two_epochs, 1))


_LABELS = np.repeat([0, 3, 4], [16, 3, 1]).astype(np.int32)


class ClassBalanceTest(absltest.TestCase):
  def test_log_shares_have_at_least_one_label_of_each_class(self):
    found = server_work.log_shares(tf.constant(_LABELS), 5)
    counts = np.array([16, 1, 1, 3, 1])
    np.testing.assert_allclose(found, np.log(counts / 22), rtol=1e-6)

  def test_draws_all_classes_and_all_images_of_a_class_alike(self):
    examples = rows.Rows((tf.range(20),))
    drawn = np.concatenate(
      [
        server_work.draw_balanced(
          examples, tf.constant(_LABELS), tf.constant([7, number])
        ).examples[0]
        for number in range(200)
      ]
    )
    self.assertLen(drawn, 200 * 20)
    counts = np.bincount(drawn, minlength=20)
    # Of 4000 draws a class has 1333, with a standard deviation of 30; each of
    # its images an equal share.
    for label, size in ((0, 16), (3, 3), (4, 1)):
      of_class = counts[_LABELS == label]
      self.assertBetween(of_class.sum(), 1333 - 120, 1333 + 120)
      mean = 4000 / 3 / size
      self.assertLess(np.abs(of_class - mean).max(), 4 * mean**0.5)

  def test_draws_nothing_of_nothing(self):
    labels = tf.constant([], tf.int32)
    drawn = server_work.draw_balanced(
      rows.Rows((labels,)), labels, tf.constant([1, 2])
    )
    self.assertEqual(drawn.number, 0)


if __name__ == '__main__':
  absltest.main()
