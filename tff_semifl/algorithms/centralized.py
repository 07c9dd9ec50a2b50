# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training on labels in one place, without clients (D.1, D33)."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tff_semifl import schedules
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop


def build_centralized_training(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
) -> federated_process.FederatedProcess:
  """Builds supervised training at the server, as a process like the others.

  A round is what `hyperparameters.server_epochs` says, one epoch in the papers'
  baselines. The learning rate is half a cosine from round 0, the first, to
  `hyperparameters.total_rounds`, the last. Clients may be there, and report
  nothing.

  Args:
    classifier: The model.
    hyperparameters: The numbers; those of clients are of no use.
    weak_augmentation: For the images.
  """

  def do_nothing(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_work.LocalTraining:
    del context, data, given_labels  # Unused.
    zero = tf.constant(0.0)
    return client_work.LocalTraining(
      training_loop.TrainingResult(
        tuple(weights.trainable),
        optimizer_state,
        training_loop.TrainingSums(zero, zero, zero, zero),
      ),
      num_labelled=zero,
      num_confident=zero,
      weight=zero,
    )

  def learning_rate(round_num: tf.Tensor) -> tf.Tensor:
    # The schedule counts from 1, its first round, and so do epochs.
    return schedules.cosine_decay(
      round_num + 1,
      initial_value=hyperparameters.learning_rate,
      total_rounds=hyperparameters.total_rounds + 1,
    )

  return alternating.compose_alternating_process(
    training_parts.build_training_parts(
      classifier,
      do_nothing,
      hyperparameters,
      weak_augmentation=weak_augmentation,
      learning_rate_fn=learning_rate,
    )
  )
