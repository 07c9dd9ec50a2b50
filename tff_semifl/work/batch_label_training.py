# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training of a client that labels batch by batch (D.3, D34, D36).

This is the training of FixMatch, and of FedAvg with FixMatch: each batch is
labeled by the model that is being trained, at that moment, and not by the model
that the client received. Table 2 of SemiFL compares the two.
"""

from collections.abc import Callable, Mapping
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import batch_losses
from tff_semifl.work import client_report
from tff_semifl.work import client_work
from tff_semifl.work import draws
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import pseudo_labeling
from tff_semifl.work import round_context
from tff_semifl.work import rows as rows_lib
from tff_semifl.work import training_loop
from tff_semifl.work import turn_form


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
  form: turn_form.TurnForm = turn_form.DYNAMIC,
) -> client_work.LocalTrainingFn:
  """Builds a client's training with labels of the model in training.

  All images are visited in each epoch. Those images of a batch are trained on,
  by a strong view, whose weak view the current model is sure of. The loss is a
  mean over them. Without any there is no step. A model with static batch
  normalization labels by the statistics of the batch's weak views, and trains
  by those of the strong views that are selected (D34).

  `label_ratio` is over all batches of all epochs. A client that has images
  takes part in the mean even if it was never sure of any (D36).

  Args:
    classifier: The model.
    weak_augmentation: For pseudo-labels.
    strong_augmentation: For training.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round; see `training_loop.train`.
    batch_size: Images in a batch, before selection.
    selection_fn: Selects the images of a batch that are trained on;
      `pseudo_labels.at_least` selects those that are confident. If it returns
      weights, the loss of an image is multiplied by its weight.
    logit_offset_fn: Guidance -> float32 [classes], an offset that is added to
      the logits in the loss; by default none.
    form: The form of the turn.

  Returns:
    A `LocalTrainingFn`, to be given to `client_work.build_client_work`.

  Raises:
    ValueError: If turns of the form cannot have the strong views.
  """
  form.check_views(strong_augmentation, classifier.image_shape)

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_report.LocalTraining:
    purpose = random_seeds.Purpose
    images = form.rows(data['image'], data.get('num_images'))
    num_rows = draws.count_rows(images.examples)
    node = round_context.Node(context, data['client_id'])
    offset = None
    if logit_offset_fn is not None:
      offset = logit_offset_fn(context.guidance)

    def epoch_data(epoch: tf.Tensor):
      rows = images.replace((tf.range(num_rows), images.examples)).shuffle(
        node.seed(purpose.FIX_ORDER, epoch)
      )
      indices, in_order = rows.examples
      return rows.replace(
        (
          indices,
          weak_augmentation(in_order, node.seed(purpose.WEAK_VIEW, epoch)),
          strong_augmentation(in_order, node.seed(purpose.STRONG_VIEW, epoch)),
        )
      )

    def select(trainable: tuple[tf.Tensor, ...], batch: rows_lib.Rows):
      indices, weak, strong = batch.examples
      model = weights._replace(trainable=trainable)
      labels = pseudo_labels.from_logits(
        batch_losses.label_logits(classifier, model, weak, batch.num_real)
      )
      return pseudo_labeling.select(
        selection_fn(context.guidance, labels),
        labels,
        batch.replace(strong),
        indices,
      )

    def loss(trainable, batch, epoch, batch_num):
      strong, labels, loss_weights = batch.examples
      logits = batch_losses.train_logits(
        classifier,
        weights._replace(trainable=trainable),
        strong,
        node.seed(purpose.DROPOUT_MASK, epoch, batch_num),
        batch.num_real,
      )
      return batch_losses.cross_entropy(
        logits,
        labels,
        *batch.weigh(loss_weights),
        offset=offset,
        is_counted=batch.is_real,
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
      # The last batch of an epoch may have padding.
      given_labels=form.make_room(
        given_labels, math.ceil(num_epochs) * num_rows + batch_size
      ),
    )
    return client_report.labeled_in_steps(training, images.number)

  return train
