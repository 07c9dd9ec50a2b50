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

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import placed_work
from tests import wide_resnet_reference
from tff_semifl import runtime
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import server_work
from tff_semifl.randomness import random_seeds

_SEED = 7
_TOLERANCE = 1e-4
# Two epochs in batches of 4, 4 and 3.
_NUM_IMAGES = 11
_BATCH_SIZE = 4


class ServerStepsTest(absltest.TestCase):
  def test_two_turns_equal_the_reference(self):
    """A.3, D5, D6: new orders, last batches, other weights between updates."""
    classifier = wide_resnet_reference.create_classifier()
    images = wide_resnet_reference.create_images(_NUM_IMAGES)
    labels = np.arange(_NUM_IMAGES) % wide_resnet_reference.NUM_CLASSES
    dataset = linear_reference.labeled_dataset(images, labels)
    optimizer = optimizers.build_nesterov_sgd()
    work = server_work.build_server_work(
      classifier,
      server_work.SupervisedTraining(
        classifier=classifier,
        weak_augmentation=linear_reference.unchanged,
        optimizer=optimizer,
        num_epochs=2,
        batch_size=_BATCH_SIZE,
      ),
      optimizer=optimizer,
    )
    process = placed_work.server_process(classifier, work)
    generator = np.random.default_rng(0)
    weights = classifier.initial_weights
    sgd = wide_resnet_reference.WideResNetSGD(
      classifier, weights.trainable, 0.0
    )
    with runtime.simulation_context():
      state = process.initialize()
      for round_num, learning_rate in ((1, 0.1), (2, 0.05)):
        # The client continues after an average changed its weights.
        received = [
          (w + generator.normal(size=np.shape(w)) / 50).astype(np.float32)
          for w in weights.trainable
        ]
        output = process.next(
          state,
          weights._replace(trainable=tuple(received)),
          federated_process.RoundContext(_SEED, round_num, learning_rate),
          dataset,
        )
        state, weights = output.state, output.result
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
      order = linear_reference.order(
        _NUM_IMAGES, _SEED, random_seeds.Purpose.SERVER_ORDER, round_num, epoch
      )
      for start in (0, 4, 8):
        batch = order[start : start + _BATCH_SIZE]
        total += len(batch) * sgd.step((1.0, images[batch], labels[batch]))
    return total / (2 * _NUM_IMAGES)


if __name__ == '__main__':
  absltest.main()
