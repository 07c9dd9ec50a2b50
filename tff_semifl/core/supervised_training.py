# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Supervised training on weakly augmented labeled images."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import class_balance
from tff_semifl.training import rows as rows_lib
from tff_semifl.training import training_loop


def build_supervised_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int,
  logit_adjustment: float = 0.0,
  is_balanced: bool = False,
) -> server_work.SupervisedTrainingFn:
  """Builds the server's training by cross-entropy.

  Each epoch has a new order and new augmentation, and keeps its last batch even
  if smaller. `num_epochs=0` leaves the weights as they are. `num_epochs` is E
  in SemiFL's paper; see `TrainingLoop` for fractions.

  Args:
    classifier: The model.
    weak_augmentation: Augments the images that are trained on.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round.
    batch_size: Images in a step.
    logit_adjustment: Factor of the logarithms of the class shares that are
      added to logits in the loss (Menon et al., ICLR 2021); 0 adds nothing.
    is_balanced: Whether images are drawn with replacement, each class with the
      same probability, instead of each image once an epoch.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> training_loop.TrainingResult:
    purpose = random_seeds.Purpose
    node = round_context.Node(context)

    def epoch_data(epoch: tf.Tensor, now: training_loop.TrainingResult):
      in_order = rows_lib.Rows((data['image'], data['label']))
      seed = node.seed(purpose.SERVER_ORDER, epoch)
      if is_balanced:
        in_order = class_balance.draw_balanced(in_order, data['label'], seed)
      else:
        in_order = in_order.shuffle(seed)
      images, labels = in_order.examples
      augmented = weak_augmentation(
        images, node.seed(purpose.SERVER_AUGMENTATION, epoch)
      )
      return in_order.replace((augmented, labels)), now.state

    offset = None
    if logit_adjustment:
      offset = logit_adjustment * class_balance.log_shares(
        data['label'], classifier.num_classes
      )

    def loss(trainable, batch, epoch, batch_num, state):
      del state  # There is none.
      images, labels = batch.examples
      logits = batch_losses.train_logits(
        classifier,
        weights._replace(trainable=trainable),
        images,
        node.seed(purpose.DROPOUT_MASK, epoch, batch_num),
      )
      return batch_losses.cross_entropy(logits, labels, offset=offset)

    return training_loop.TrainingLoop(
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state)

  return train


def begin_with(
  first_fn: server_work.SupervisedTrainingFn,
  training_fn: server_work.SupervisedTrainingFn,
) -> server_work.SupervisedTrainingFn:
  """Trains with `first_fn` in round 0 and with `training_fn` after it."""

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
