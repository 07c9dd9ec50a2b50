# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a client does where labels are made batch by batch (D.3, D34, D36).

As FixMatch does it, and FedAvg with FixMatch: each batch is labelled by the
model that is being trained, at that moment, and not by the model that the
client received. SemiFL's Table 2 shows what the difference is worth.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import losses
from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop


def build_batch_label_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int,
  selection_fn: pseudo_labels.SelectionFn,
  logit_offset_fn: Callable[[Any], tf.Tensor] | None = None,
) -> client_work.LocalTrainingFn:
  """Builds what a client does, plain TensorFlow.

  All images are visited in each epoch. Of each batch those are trained on, by
  a strong view, whose weak view the current model is sure of; the loss is a
  mean over these. There is no step if there are none. A model with static
  batch normalisation labels by the statistics of the batch's weak views, and
  trains by those of the strong views that are left (D34).

  `label_ratio` is over all batches of all epochs. A client that has images
  takes part in the mean even if it was never sure of any (D36).

  Args:
    classifier: The model.
    weak_augmentation: For pseudo-labels.
    strong_augmentation: For training.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round; see `training_loop.train`.
    batch_size: Images in a batch, before those without label are left out.
    selection_fn: Says which images of a batch are trained on: by
      `pseudo_labels.at_least` those that are confident. If it says weights, the
      loss of an image is multiplied by its weight.
    logit_offset_fn: Guidance -> what is added to logits in the loss, float32
      [classes]; by default nothing.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_work.LocalTraining:
    images = data['image']
    num_images = tf.shape(images)[0]
    offset = None
    if logit_offset_fn is not None:
      offset = logit_offset_fn(context.guidance)

    def model_weights(trainable: tuple[tf.Tensor, ...]):
      return functional.ModelWeights(trainable, weights.non_trainable)

    def epoch_data(epoch: tf.Tensor):
      def seed(purpose: random_seeds.Purpose) -> tf.Tensor:
        return random_seeds.stateless_seed(
          context.seed, purpose, context.round_num, data['client_id'], epoch
        )

      purpose = random_seeds.Purpose
      order = tf.random.experimental.stateless_shuffle(
        tf.range(num_images), seed(purpose.FIX_ORDER)
      )
      in_order = tf.gather(images, order)
      return (
        order,
        weak_augmentation(in_order, seed(purpose.WEAK_VIEW)),
        strong_augmentation(in_order, seed(purpose.STRONG_VIEW)),
      )

    def select(trainable: tuple[tf.Tensor, ...], batch: Any):
      order, weak, strong = batch
      labels = pseudo_labels.from_logits(
        classifier.train_logits(
          model_weights(trainable), tf.cast(weak, tf.float32)
        )
      )
      is_confident, weights_of_images = pseudo_labels.split_selection(
        selection_fn(context.guidance, labels)
      )
      confident = tf.where(is_confident)[:, 0]
      return training_loop.Selection(
        tf.nest.map_structure(
          lambda array: tf.gather(array, confident),
          (strong, labels.labels, weights_of_images),
        ),
        given_labels_lib.made_at_once(order, labels.labels, is_confident),
      )

    def loss(trainable, batch, epoch, batch_num):
      del epoch, batch_num  # Unused.
      strong, labels, loss_weights = batch
      logits = classifier.train_logits(
        model_weights(trainable), tf.cast(strong, tf.float32)
      )
      return training_loop.BatchOutput(
        losses.cross_entropy(logits, labels, *loss_weights, offset=offset),
        training_loop.count_correct(logits, labels),
      )

    training = training_loop.train(
      weights.trainable,
      optimizer_state,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
      select_fn=select,
      given_labels=given_labels,
    )
    return client_work.LocalTraining(
      training,
      num_labelled=training.sums.num_visited,
      num_confident=training.sums.num_examples,
      weight=tf.cast(num_images > 0, tf.float32),
    )

  return train
