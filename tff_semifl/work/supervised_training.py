# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training on labeled images, weakly augmented (A.3, D.7)."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_losses
from tff_semifl.work import round_context
from tff_semifl.work import rows as rows_lib
from tff_semifl.work import server_work
from tff_semifl.work import training_loop


def build_supervised_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int,
  mask_absent_classes: bool = False,
  rows_fn: rows_lib.RowsFn = rows_lib.AllRows,
) -> server_work.SupervisedTrainingFn:
  """Builds training by the cross-entropy of labels, for server or client.

  Each epoch has a new order and new views. Its last batch is kept even if it is
  smaller. `num_epochs=0` leaves the weights as they are.

  Args:
    classifier: The model.
    weak_augmentation: Makes the views that are trained on.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round, E in the paper; see `training_loop.train`.
    batch_size: Images in a step.
    mask_absent_classes: Whether logits of classes without images are 0 in the
      loss, so that these classes are not trained away (HeteroFL, D53).
    rows_fn: Makes rows of examples.

  Returns:
    A `SupervisedTrainingFn`. Its data are `image`, `label` and, for a client,
    `client_id`, and `num_images` if there is padding.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> training_loop.TrainingResult:
    purpose = random_seeds.Purpose
    # Only clients have a number.
    client_id = data.get('client_id')
    node = round_context.Node(context, client_id)
    order_purpose, view_purpose = (
      (purpose.SERVER_ORDER, purpose.SERVER_AUGMENTATION)
      if client_id is None
      else (purpose.FIX_ORDER, purpose.WEAK_VIEW)
    )

    def epoch_data(epoch: tf.Tensor):
      in_order = rows_fn(
        (data['image'], data['label']), data.get('num_images')
      ).shuffle(node.seed(order_purpose, epoch))
      images, labels = in_order.examples
      views = weak_augmentation(images, node.seed(view_purpose, epoch))
      return in_order.replace((views, labels))

    def loss(trainable, batch, epoch, batch_num):
      images, labels = batch.examples
      logits = batch_losses.train_logits(
        classifier,
        weights._replace(trainable=trainable),
        images,
        node.seed(purpose.DROPOUT_MASK, epoch, batch_num),
        batch.num_real,
      )
      if mask_absent_classes:
        logits = batch_losses.mask_absent(logits, data['label'])
      return batch_losses.cross_entropy(
        logits, labels, *batch.weigh(), is_counted=batch.is_real
      )

    return training_loop.train(
      weights.trainable,
      optimizer_state,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
    )

  return train


def begin_with(
  first_fn: server_work.SupervisedTrainingFn,
  training_fn: server_work.SupervisedTrainingFn,
) -> server_work.SupervisedTrainingFn:
  """Returns training that is another one in round 0.

  Args:
    first_fn: Trains in round 0.
    training_fn: Trains in all other rounds.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    *data_and_state: Any,
  ) -> training_loop.TrainingResult:
    return tf.cond(
      context.round_num > 0,
      lambda: training_fn(weights, context, *data_and_state),
      lambda: first_fn(weights, context, *data_and_state),
    )

  return train
