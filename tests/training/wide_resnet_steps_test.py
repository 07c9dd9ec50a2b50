# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a WideResNet's steps against another implementation.

Other tests have a linear model. This one has convolutions and normalization,
and the second one of `wide_resnet_reference` takes the steps in float64.

Numbers of float32 are off by up to 6e-8 of themselves. A convolution adds up at
most 9 * 32 of them, a channel's statistics and gradients 4 * 256; that makes
1e-5 in a pass if errors add up as badly as they can, and some 1e-4 in the six
steps of a test, each of which starts with the errors of those before. Weights
may be off by that share of the way that they went.
"""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import batch_label_reference
from tests import linear_reference
from tests import wide_resnet_reference
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.core import client_update
from tff_semifl.core import client_work
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.core import supervised_training
from tff_semifl.methods import label_each_batch
from tff_semifl.randomness import random_seeds
from tff_semifl.training import optimizers

_SEED = 7
_TOLERANCE = 1e-4
# Two epochs in batches of 4, 4 and 3.
_NUM_IMAGES = 11
_BATCH_SIZE = 4


class _RecordingSGD(wide_resnet_reference.WideResNetSGD):
  """Records the confidence of each prediction of the model."""

  confidences = []

  def logits(self, images):
    logits = super().logits(images)
    self.confidences.extend(linear_reference.softmax(logits).max(axis=1))
    return logits


class ClientStepsTest(absltest.TestCase):
  @pytest.mark.slow
  def test_labels_batch_by_batch_equal_the_reference(self):
    """D.3, D6, D34: skipped batches, kept images, one batch's statistics."""
    learning_rate, threshold = 0.05, 0.9
    classifier = wide_resnet_reference.create_classifier()
    weights = classifier.initial_weights
    images = wide_resnet_reference.create_images(_NUM_IMAGES)
    optimizer = optimizers.build_nesterov_sgd()
    process = client_work.build_client_work(
      classifier,
      client_update.Training(
        model=classifier,
        weak_augmentation=linear_reference.mirrored,
        strong_augmentation=linear_reference.inverted,
        optimizer=optimizer,
        num_epochs=2,
        batch_size=_BATCH_SIZE,
      ).build(
        settings.change(
          label_each_batch.LabelEachBatch(),
          {'confidence_threshold': threshold},
        )
      ),
      optimizer=optimizer,
      keep_optimizer_state=False,
      max_update_norm_ratio=10.0,
    )
    with runtime.simulation_context():
      output = process.next(
        process.initialize(),
        [(weights, round_context.RoundContext(_SEED, 4, learning_rate))],
        [linear_reference.client_dataset(3, images)],
      )
    expected = batch_label_reference.train_client(
      weights.trainable,
      images,
      client_id=3,
      round_num=4,
      seed=_SEED,
      learning_rate=learning_rate,
      num_epochs=2,
      batch_size=_BATCH_SIZE,
      threshold=threshold,
      weak=linear_reference.mirrored,
      strong=linear_reference.inverted,
      create_sgd=functools.partial(_RecordingSGD, classifier),
    )
    # Some batches have nothing to train on, and some only a part.
    self.assertBetween(expected.num_skipped, 1, 3)
    self.assertLess(
      expected.num_confident,
      2 * _NUM_IMAGES - _BATCH_SIZE * expected.num_skipped,
    )
    # Nor does rounding decide what is confident.
    margins = np.abs(np.array(_RecordingSGD.confidences) - threshold)
    self.assertGreater(margins.min(), 1e-3)

    [result] = output.result
    trained = [
      np.asarray(before, np.float64) - update
      for before, update in zip(weights.trainable, result.update, strict=True)
    ]
    self.assertLess(
      wide_resnet_reference.relative_error(
        trained, expected.weights, weights.trainable
      ),
      _TOLERANCE,
    )
    metrics = output.measurements
    self.assertAlmostEqual(
      metrics['label_ratio'],
      expected.num_confident / (2 * _NUM_IMAGES),
      places=6,
    )
    self.assertAlmostEqual(
      metrics['loss'], expected.loss_sum / expected.num_confident, places=4
    )
    self.assertAlmostEqual(
      metrics['accuracy'],
      expected.num_correct / expected.num_confident,
      places=6,
    )


class ServerStepsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('momentum_kept', True), ('momentum_reset', False)
  )
  def test_two_turns_equal_the_reference(self, keep_optimizer_state):
    """A.3, D5, D6: reshuffled epochs, remainders, other weights in between."""
    classifier = wide_resnet_reference.create_classifier()
    images = wide_resnet_reference.create_images(_NUM_IMAGES)
    labels = np.arange(_NUM_IMAGES) % wide_resnet_reference.NUM_CLASSES
    dataset = linear_reference.labeled_dataset(images, labels)
    optimizer = optimizers.build_nesterov_sgd()
    process = server_work.build_server_work(
      classifier,
      supervised_training.build_supervised_training(
        classifier,
        weak_augmentation=linear_reference.unchanged,
        optimizer=optimizer,
        num_epochs=2,
        batch_size=_BATCH_SIZE,
      ),
      optimizer=optimizer,
      keep_optimizer_state=keep_optimizer_state,
    )
    generator = np.random.default_rng(0)
    weights = classifier.initial_weights
    sgd = wide_resnet_reference.WideResNetSGD(
      classifier, weights.trainable, 0.0
    )
    with runtime.simulation_context():
      state = process.initialize()
      for round_num, learning_rate in ((1, 0.1), (2, 0.05)):
        # As if clients had been averaged since the last turn.
        received = [
          (w + generator.normal(size=np.shape(w)) / 50).astype(np.float32)
          for w in weights.trainable
        ]
        output = process.next(
          state,
          weights._replace(trainable=tuple(received)),
          round_context.RoundContext(_SEED, round_num, learning_rate),
          dataset,
        )
        state, weights = output.state, output.result
        if not keep_optimizer_state:
          sgd = wide_resnet_reference.WideResNetSGD(classifier, received, 0.0)
        sgd.weights = [np.asarray(w, np.float64) for w in received]
        sgd.learning_rate = learning_rate
        expected_loss = self._train(sgd, images, labels, round_num)
        self.assertLess(
          wide_resnet_reference.relative_error(
            weights.trainable, sgd.weights, received
          ),
          _TOLERANCE,
        )
        self.assertAlmostEqual(
          output.measurements['loss'], expected_loss, places=4
        )

  def _train(self, sgd, images, labels, round_num):
    """Takes two epochs; returns the mean loss of an image."""
    total = 0.0
    for epoch in range(2):
      order = tf.random.experimental.stateless_shuffle(
        tf.range(_NUM_IMAGES),
        random_seeds.stateless_seed(
          _SEED, random_seeds.Purpose.SERVER_ORDER, round_num, epoch
        ),
      ).numpy()
      for start in (0, 4, 8):
        batch = order[start : start + _BATCH_SIZE]
        total += len(batch) * sgd.step((1.0, images[batch], labels[batch]))
    return total / (2 * _NUM_IMAGES)


if __name__ == '__main__':
  absltest.main()
