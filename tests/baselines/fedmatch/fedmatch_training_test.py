# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FedMatch's losses and updates against NumPy (D.6)."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import decomposed_reference
from tests import fedmatch_reference
from tests import given_labels_reference
from tests import linear_reference
from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop

_SEED = 7
_LEARNING_RATE = 0.05
# Different weights, so that the terms differ.
_LOSS_WEIGHTS = fedmatch_training.ClientLossWeights(
  consistency=2.0, agreement=0.7, l1=0.03, l2=0.2
)
_CONTEXT = federated_process.RoundContext(
  np.int32(_SEED), np.int32(10), np.float32(_LEARNING_RATE)
)


def _to_tensors(structure):
  return tf.nest.map_structure(tf.constant, structure)


class LossesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    generator = np.random.default_rng(0)
    self.logits = generator.normal(size=(5, 3)).astype(np.float32)
    self.helpers = generator.normal(size=(2, 5, 3)).astype(np.float32)
    self.counted = np.array([True, False, True, True, False])

  @parameterized.named_parameters(
    ('no_helper', slice(0), slice(None)), ('no_image', slice(None), None)
  )
  def test_no_consistency_term_without(self, helpers, images):
    counted = self.counted if images else np.zeros(5, bool)
    logits = tf.constant(self.logits)
    with tf.GradientTape() as tape:
      tape.watch(logits)
      loss = fedmatch_training.consistency_loss(
        logits, self.helpers[helpers], counted
      )
    self.assertAllEqual(loss, 0.0)
    self.assertAllEqual(tape.gradient(loss, logits), np.zeros([5, 3]))

  def test_votes(self):
    def for_classes(classes):
      return np.eye(3, dtype=np.float32)[classes]

    labels = fedmatch_training.agreed_labels(
      # All agree; outvoted; one helper agrees; all differ: the lowest class.
      tf.constant(for_classes([1, 0, 2, 2])),
      tf.constant(for_classes([[1, 1, 0, 1], [1, 1, 2, 0]])),
    )
    self.assertAllEqual(labels, [1, 1, 2, 0])

  def test_without_helpers_the_client_votes_alone(self):
    labels = fedmatch_training.agreed_labels(
      tf.constant(self.logits), tf.zeros([0, 5, 3])
    )
    self.assertAllEqual(labels, self.logits.argmax(axis=1))


class TurnsTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.classifier = decomposed_reference.create_classifier()
    self.weights = _to_tensors(self.classifier.initial_weights)

  def _restrict(self, index):
    return optimizers.restrict(
      tff.learning.optimizers.build_sgdm(_LEARNING_RATE),
      [index == each for each in range(4)],
    )

  def _train_client(self, images, helpers, threshold):
    """Returns the update, and the same in NumPy."""
    optimizer = self._restrict(fedmatch_reference.PHI)
    train = fedmatch_training.ClientTraining(
      classifier=self.classifier,
      strong_augmentation=linear_reference.inverted,
      optimizer=optimizer,
      num_epochs=1,
      batch_size=4,
      confidence_threshold=threshold,
      loss_weights=_LOSS_WEIGHTS,
    )

    found = tf.function(train)(
      self.weights,
      _to_tensors(_CONTEXT),
      collections.OrderedDict(
        client_id=tf.constant(3), image=tf.constant(images)
      ),
      training_loop.initial_optimizer_state(
        optimizer, self.classifier.initial_weights.trainable
      ),
      (tf.constant(helpers, tf.float32),),
    )
    expected = fedmatch_reference.train_client(
      self.classifier.initial_weights.trainable,
      images,
      list(helpers),
      client_id=3,
      round_num=10,
      seed=_SEED,
      learning_rate=_LEARNING_RATE,
      batch_size=4,
      threshold=threshold,
      loss_weights=_LOSS_WEIGHTS,
      strong=linear_reference.inverted,
    )
    return found, expected

  def _assert_equal(self, found, expected):
    trainable = found.training.trainable
    self.assertAllClose(
      trainable[fedmatch_reference.PHI], expected.phi, rtol=1e-4, atol=1e-5
    )
    for index in (0, 2, 3):
      self.assertAllEqual(trainable[index], self.weights.trainable[index])
    sums = found.training.sums
    self.assertAllEqual(found.num_confident, expected.num_confident)
    given_labels_reference.assert_given(found.given_labels, expected.labeled)
    self.assertAllEqual(sums.num_correct, expected.num_correct)
    self.assertAllClose(
      sums.loss, expected.loss * expected.num_confident, rtol=1e-4
    )

  def test_client_with_helpers_equals_numpy(self):
    generator = np.random.default_rng(1)
    helpers = generator.normal(size=(2, 2, 2, 1, 4))
    # Batches of four, four and one image; not all are confident.
    images = linear_reference.create_images(9, seed=2)
    found, expected = self._train_client(images, helpers, 0.5)
    self._assert_equal(found, expected)
    self.assertBetween(expected.num_confident, 1, 8)
    self.assertAllEqual(found.num_labeled, 9)
    self.assertGreater(expected.num_outvoted, 0)
    self.assertGreater(expected.consistency, 0)

  def test_client_that_is_sure_of_nothing_regularizes_only(self):
    images = linear_reference.create_images(9, seed=2)
    found, expected = self._train_client(images, np.ones([2, 2, 2, 1, 4]), 1.0)
    self._assert_equal(found, expected)
    self.assertAllEqual(found.num_confident, 0)
    self.assertAllEqual(found.weight, 1.0)
    self.assertGreater(
      np.abs(expected.phi - self.weights.trainable[1]).max(), 1e-3
    )

  def test_client_without_images_does_not_take_part(self):
    found, _ = self._train_client(
      linear_reference.create_images(0), np.zeros([0, 2, 2, 1, 4]), 0.5
    )
    self.assertAllEqual(found.weight, 0.0)
    self.assertAllEqual(found.training.trainable[1], self.weights.trainable[1])


if __name__ == '__main__':
  absltest.main()
