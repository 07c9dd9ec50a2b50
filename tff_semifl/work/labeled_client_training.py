# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training of a client that has labels (D.7, D53)."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import client_report
from tff_semifl.work import client_work
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import supervised_training
from tff_semifl.work import turn_form


def build_labeled_client_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int,
  mask_absent_classes: bool,
  form: turn_form.TurnForm = turn_form.DYNAMIC,
) -> client_work.LocalTrainingFn:
  """Builds the training of a client whose data have labels.

  No label is a pseudo-label: `num_labeled` is 0. A client without images has
  no update to report.

  Args:
    classifier: The model.
    weak_augmentation: Makes the views that are trained on.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round; see `training_loop.train`.
    batch_size: Images in a step.
    mask_absent_classes: See `supervised_training.build_supervised_training`.
    form: The form of the turn.

  Returns:
    A `LocalTrainingFn`, to be given to `client_work.build_client_work`.
  """
  train_fn = supervised_training.build_supervised_training(
    classifier,
    weak_augmentation=weak_augmentation,
    optimizer=optimizer,
    num_epochs=num_epochs,
    batch_size=batch_size,
    mask_absent_classes=mask_absent_classes,
    rows_fn=form.rows,
  )

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_report.LocalTraining:
    del given_labels  # No pseudo-label is given.
    return client_report.trained_on_true_labels(
      train_fn(weights, context, data, optimizer_state),
      form.rows(data['label'], data.get('num_images')).number,
    )

  return train
