# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the server's training."""

from absl.testing import absltest
import numpy as np
import pytest
from scipy import special
import tensorflow as tf

from tests import linear_reference
from tests import wide_resnet_reference
from tests.core import plain_work
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import rows
from tff_semifl.core import server_work
from tff_semifl.data import pipelines
from tff_semifl.randomness import random_seeds

_SEED = plain_work.SEED
_RATE = 0.25


def _build(classifier, *, num_epochs=2, batch_size=2, **options):
  """The initial state, and the server work as a function."""
  optimizer = optimizers.build_nesterov_sgd()
  work = server_work.build_server_work(
    classifier,
    server_work.SupervisedTraining(
      classifier=classifier,
      weak_augmentation=linear_reference.unchanged,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      **options,
    ),
    optimizer=optimizer,
  )
  train = plain_work.Traced(
    lambda data, *others: work.train(*others, data),
    pipelines.labeled_type(classifier.image_shape),
  )
  return work.initialize(), train


def _train_in_numpy(sgd, images, labels, round_num, batch_size):
  """Trains for two epochs in NumPy; returns the mean loss of an image."""
  number, total = len(labels), 0.0
  for epoch in range(2):
    order = linear_reference.order(
      number, _SEED, random_seeds.Purpose.SERVER_ORDER, round_num, epoch
    )
    for start in range(0, number, batch_size):
      batch = order[start : start + batch_size]
      total += len(batch) * sgd.step((1.0, images[batch], labels[batch]))
  return total / (2 * number)


class ExecutionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    self.weights = self.classifier.initial_weights
    self.images = linear_reference.create_images(5)
    self.labels = np.array([0, 1, 2, 1, 0])
    self.dataset = linear_reference.labeled_dataset(self.images, self.labels)

  def test_two_rounds_equal_numpy_with_momentum_kept(self):
    state, train = _build(self.classifier)
    weights = self.weights
    sgd = linear_reference.NumpySGD(weights.trainable, _RATE)
    for round_num in (1, 2):
      context = federated_process.RoundContext(_SEED, round_num, _RATE)
      state, weights, metrics = train(self.dataset, state, weights, context)
      # Batches of 2, 2 and 1.
      loss = _train_in_numpy(sgd, self.images, self.labels, round_num, 2)
      for found, expected in zip(weights.trainable, sgd.weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
      for found, expected in zip(
        state['accumulator'], sgd.accumulator, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
      self.assertAlmostEqual(metrics['loss'], loss, places=5)
    self.assertAlmostEqual(state['learning_rate'], _RATE)
    no_images = linear_reference.labeled_dataset(
      self.images[:0], self.labels[:0]
    )
    _, found, metrics = train(no_images, state, weights, context)
    for same, expected in zip(found.trainable, weights.trainable, strict=True):
      np.testing.assert_array_equal(same, expected)
    self.assertTrue(np.isnan(metrics['loss']))
    self.assertTrue(np.isnan(metrics['accuracy']))

  def test_class_balance(self):
    logits = linear_reference.logits(self.weights.trainable, self.images)
    losses = -special.log_softmax(logits, axis=1)[np.arange(5), self.labels]
    drawn = server_work.draw_balanced(
      rows.Rows((tf.range(5),)),
      tf.constant(self.labels, tf.int32),
      random_seeds.stateless_seed(
        _SEED, random_seeds.Purpose.SERVER_ORDER, 1, 0
      ),
    ).examples[0]
    adjusted = logits + 0.5 * np.log([2 / 5, 2 / 5, 1 / 5])
    for balance, loss in (
      ({'is_balanced': True}, losses[drawn].mean()),
      (
        {'logit_adjustment': 0.5},
        -special.log_softmax(adjusted, axis=1)[
          np.arange(5), self.labels
        ].mean(),
      ),
    ):
      # An epoch in a single batch, with weights that do not change.
      state, train = _build(
        self.classifier, num_epochs=1, batch_size=5, **balance
      )
      context = federated_process.RoundContext(_SEED, 1, 0.0)
      _, _, metrics = train(self.dataset, state, self.weights, context)
      self.assertAlmostEqual(metrics['loss'], loss, places=5)
    # Predictions do not have the adjustment.
    self.assertAlmostEqual(
      metrics['accuracy'],
      np.mean(logits.argmax(axis=1) == self.labels),
      places=6,
    )


class WideResNetTest(absltest.TestCase):
  """Convolutions and normalization, against steps in float64.

  Float32 numbers have relative errors of up to 6e-8. A convolution adds up at
  most 9 * 32 numbers, a channel's statistics and gradients 4 * 256. In the
  worst case, errors add up to 1e-5 in a pass, and to some 1e-4 in six steps.
  The tolerance is this fraction of the change of the weights.
  """

  @pytest.mark.slow
  def test_two_turns_equal_the_reference(self):
    """New orders, small last batches, other weights between updates."""
    classifier = wide_resnet_reference.create_classifier()
    images = wide_resnet_reference.create_images(11)
    labels = np.arange(11) % wide_resnet_reference.NUM_CLASSES
    dataset = linear_reference.labeled_dataset(images, labels)
    state, train = _build(classifier, batch_size=4)
    generator = np.random.default_rng(0)
    weights = classifier.initial_weights
    sgd = wide_resnet_reference.WideResNetSGD(
      classifier, weights.trainable, 0.0
    )
    for round_num, rate in ((1, 0.1), (2, 0.05)):
      # The server continues after averaging has changed its weights.
      received = tuple(
        (w + generator.normal(size=np.shape(w)) / 50).astype(np.float32)
        for w in weights.trainable
      )
      state, weights, metrics = train(
        dataset,
        state,
        weights._replace(trainable=received),
        federated_process.RoundContext(_SEED, round_num, rate),
      )
      sgd.weights = [np.asarray(w, np.float64) for w in received]
      sgd.learning_rate = rate
      loss = _train_in_numpy(sgd, images, labels, round_num, 4)
      error = wide_resnet_reference.relative_error(
        weights.trainable, sgd.weights, received
      )
      self.assertLess(error, 1e-4)
      self.assertAlmostEqual(metrics['loss'], loss, places=4)


_LABELS = np.repeat([0, 3, 4], [16, 3, 1]).astype(np.int32)


class ClassBalanceTest(absltest.TestCase):
  def test_log_shares_have_at_least_one_label_of_each_class(self):
    found = server_work.log_shares(tf.constant(_LABELS), 5)
    counts = np.array([16, 1, 1, 3, 1])
    np.testing.assert_allclose(found, np.log(counts / 22), rtol=1e-6)

  def test_draws_all_classes_and_all_images_of_a_class_alike(self):
    examples = rows.Rows((tf.range(20),))
    draw = tf.function(
      lambda seed: (
        server_work.draw_balanced(examples, tf.constant(_LABELS), seed).examples
      )
    )
    drawn = np.concatenate(
      [draw(tf.constant([7, number]))[0] for number in range(200)]
    )
    self.assertLen(drawn, 200 * 20)
    counts = np.bincount(drawn, minlength=20)
    # Of 4000 draws a class has 1333, with a standard deviation of 30; each
    # image of the class has an equal share.
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
