# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small SemiFL client for tests of its training."""

import functools

import numpy as np

from tests import linear_reference
from tests import placed_work
from tests import simulation_test_case
from tff_semifl import settings
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import client_update
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers

LEARNING_RATE = 0.25
SEED = 7


@functools.cache
def build(
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
  """Builds the work of clients with a linear model."""
  classifier = linear_reference.create_classifier(dropout_rate=dropout_rate)
  optimizer = optimizers.build_nesterov_sgd()
  work = client_work.build_client_work(
    classifier,
    client_update.build_local_training(
      settings.change(
        fix_mix.FixMix(),
        {
          'confidence_threshold': threshold,
          'mix_loss_weight': mix_loss_weight,
          **options,
        },
      ),
      client_update.Training(
        model=classifier,
        weak_augmentation=weak,
        strong_augmentation=strong,
        optimizer=optimizer,
        num_epochs=num_epochs,
        batch_size=batch_size,
      ),
    ),
    optimizer=optimizer,
    keep_optimizer_state=keep_optimizer_state,
    max_update_norm_ratio=10.0,
  )
  return placed_work.ClientProcess(classifier, work)


class FixMixClientTestCase(simulation_test_case.SimulationTestCase):
  """Base of tests with seven images, five of them confident."""

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

  def next(self, process, clients, weights=None, round_num=1, seed=SEED):
    """Runs a round of pairs of a client's number and its images."""
    context = federated_process.RoundContext(seed, round_num, LEARNING_RATE)
    received = (weights or self.weights, context)
    return process.next(
      process.initialize(),
      [received] * len(clients),
      [
        linear_reference.client_dataset(client_id, images)
        for client_id, images in clients
      ],
    )
