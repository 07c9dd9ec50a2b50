# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training of a client of SemiFL: it labels once, then fixes and mixes.

SemiFL (NeurIPS 2022), section 3.4 and Algorithm 1, A.6 to A.11: the fix data
set, images of which the received model is sure, is trained on by strong views.
It is mixed with the mix data set, as many images drawn from all of the client.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import image_sums
from tff_semifl import losses
from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.augment import mixup
from tff_semifl.models import functional
from tff_semifl.work import batch_losses
from tff_semifl.work import client_report
from tff_semifl.work import client_work
from tff_semifl.work import draws
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import pseudo_labeling
from tff_semifl.work import round_context
from tff_semifl.work import rows as rows_lib
from tff_semifl.work import sharpness_aware
from tff_semifl.work import training_loop
from tff_semifl.work import turn_form

# (guidance, pseudo-labels of the client's images) -> float32 [classes], or None
# for no offset.
LogitOffsetFn = Callable[[Any, pseudo_labels.PseudoLabels], tf.Tensor | None]
# (guidance, pseudo-labels of the client's images) -> any structure of tensors.
ReportFn = Callable[[Any, pseudo_labels.PseudoLabels], Any]
# (guidance, received weights) -> the weights of the model that labels.
LabelerFn = Callable[[Any, functional.ModelWeights], functional.ModelWeights]
# (pseudo-labels of the client's images, int32 scalar, how many are selected) ->
# weight of the client's update in the mean, a float32 scalar, at least 0.
WeightFn = Callable[[pseudo_labels.PseudoLabels, tf.Tensor], tf.Tensor]


def use_received(
  guidance: Any, weights: functional.ModelWeights
) -> functional.ModelWeights:
  """Returns the received weights, a `LabelerFn` (A.6)."""
  del guidance  # The received model labels.
  return weights


def add_nothing(guidance: Any, labels: pseudo_labels.PseudoLabels) -> None:
  """Returns no offset of logits, a `LogitOffsetFn` (A.8)."""
  del guidance, labels  # Losses are of logits as they are.


def count_equally(
  labels: pseudo_labels.PseudoLabels, num_selected: tf.Tensor
) -> tf.Tensor:
  """Returns 1 for a client that selected any image, a `WeightFn` (A.12)."""
  del labels  # Which labels they are does not matter.
  return tf.cast(num_selected > 0, tf.float32)


class Batch(NamedTuple):
  """A batch of the fix data set, or all of it in the order of an epoch.

  Attributes:
    strong: uint8 [batch, height, width, channels], strong views.
    targets: int32 [batch], their pseudo-labels, or float32 [batch, classes] if
      labels are soft.
    labels: int32 [batch], the most probable classes.
    confidences: Confidences of the labels, (float32 [batch],), or () if the
      losses do not need them.
    weights: Weights in the losses, (float32 [batch],), or () for all the same.
    mix: For the mix loss as many images of the fix data set, images of the mix
      data set and targets of the latter, or () without it. Images are weak
      views, or raw if the mixture is augmented instead.
  """

  strong: tf.Tensor
  targets: tf.Tensor
  labels: tf.Tensor
  confidences: tuple[tf.Tensor, ...]
  weights: tuple[tf.Tensor, ...]
  mix: tuple[tf.Tensor, ...] = ()


def build_fix_mix_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int,
  selection_fn: pseudo_labels.SelectionFn,
  mixup_concentration: float,
  mix_loss_weight: float,
  soft_labels: bool = False,
  mix_once_per_round: bool = False,
  mix_before_augmentation: bool = False,
  labeler_fn: LabelerFn = use_received,
  label_fn: pseudo_labels.LabelFn = pseudo_labels.most_probable,
  logit_offset_fn: LogitOffsetFn = add_nothing,
  consistency: sharpness_aware.Consistency | None = None,
  weight_fn: WeightFn = count_equally,
  report_fn: ReportFn | None = None,
  form: turn_form.TurnForm = turn_form.DYNAMIC,
) -> client_work.LocalTrainingFn:
  """Builds the training of a client of SemiFL.

  A client that has no confident image has no update to report (A.11), unless
  `weight_fn` gives it a weight: its update is zero then.

  Args:
    classifier: The model.
    weak_augmentation: Makes the views for pseudo-labels and for mixing.
    strong_augmentation: Makes the views for the fix loss.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round, E in the paper; below 1, that share of the
      batches of one (A.10).
    batch_size: Images in a step; the last of an epoch may have fewer.
    selection_fn: Selects the images of the fix data set, as
      `pseudo_labels.at_least(tau)` does. If it returns weights, the losses of a
      fix image and of its mixture are multiplied by its weight.
    mixup_concentration: Both parameters of the Beta distribution, a in the
      paper.
    mix_loss_weight: Factor on the mix loss, lambda in the paper (lambda_mix is
      another). 0 gives training on the fix data set alone.
    soft_labels: Whether to train on the probabilities of all classes, as the
      paper's formulas have it, instead of the most probable class (D12).
    mix_once_per_round: Whether all epochs mix with the same images, as in the
      paper, instead of each with a new draw (D13).
    mix_before_augmentation: Whether raw images are mixed and the mixture
      augmented, as in the paper, instead of two weak views mixed (D14).
    labeler_fn: Chooses the weights of the model that labels; by default those
      that the client receives and trains.
    label_fn: Labels all images, once; by default with the most probable class.
    logit_offset_fn: Returns an offset that is added to the logits in both
      losses; by default none.
    consistency: A further loss, of the strong views; by default none.
    weight_fn: Weighs the client's update in the mean; by default all clients
      with a confident image count the same.
    report_fn: Makes the client's message to `Guidance.update` from the labels
      of all its images; by default none.
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
    node = round_context.Node(context, data['client_id'])
    images = form.rows(data['image'], data.get('num_images'))
    with image_sums.of_first(images.num_real):
      labels = pseudo_labeling.label_images(
        classifier,
        labeler_fn(context.guidance, weights),
        images,
        node=node,
        weak_augmentation=weak_augmentation,
        label_fn=label_fn,
      )
      offset = logit_offset_fn(context.guidance, labels)
      targets = labels.probabilities if soft_labels else labels.labels
      confidences = () if consistency is None else (labels.confidences,)
      fix_data, given = pseudo_labeling.select(
        selection_fn(context.guidance, labels),
        labels,
        images.replace((images.examples, targets, confidences)),
        tf.range(draws.count_rows(images.examples)),
      )
      weight = weight_fn(labels, fix_data.number)
      report = () if report_fn is None else report_fn(context.guidance, labels)
      measurements = client_report.measure_confidences(labels.confidences)

    def epoch_data(epoch: tf.Tensor) -> rows_lib.Rows:
      rows = fix_data.shuffle(node.seed(purpose.FIX_ORDER, epoch))
      (fix_images, fix_targets, confidences), fix_labels, fix_weights = (
        rows.examples
      )
      batch = Batch(
        strong_augmentation(fix_images, node.seed(purpose.STRONG_VIEW, epoch)),
        fix_targets,
        fix_labels,
        confidences,
        fix_weights,
      )
      if not mix_loss_weight:
        return rows.replace(batch)
      mix_images, mix_targets = draws.draw_with_replacement(
        (images.examples, targets),
        draws.count_rows(fix_images),
        node.seed(purpose.MIX_DRAW, 0 if mix_once_per_round else epoch),
        num_real=images.num_real,
      )
      if not mix_before_augmentation:
        fix_images = weak_augmentation(
          fix_images, node.seed(purpose.WEAK_VIEW, epoch)
        )
        mix_images = weak_augmentation(
          mix_images, node.seed(purpose.MIX_VIEW, epoch)
        )
      return rows.replace(
        batch._replace(mix=(fix_images, mix_images, mix_targets))
      )

    def train_logits(
      model, rows: rows_lib.Rows, views, *keys: tf.Tensor | int
    ) -> tf.Tensor:
      return batch_losses.train_logits(
        classifier,
        model,
        views,
        node.seed(purpose.DROPOUT_MASK, *keys),
        rows.num_real,
      )

    def mix_loss(model, rows: rows_lib.Rows, epoch, batch_num) -> tf.Tensor:
      batch: Batch = rows.examples
      fix_images, mix_images, mix_targets = batch.mix
      coefficient = mixup.sample_coefficient(
        node.seed(purpose.MIXUP_COEFFICIENT, epoch, batch_num),
        concentration=mixup_concentration,
      )
      mixture = mixup.mix(
        tf.cast(fix_images, tf.float32),
        tf.cast(mix_images, tf.float32),
        coefficient,
      )
      if mix_before_augmentation:
        mixture = weak_augmentation(
          mixture, node.seed(purpose.WEAK_VIEW, epoch, batch_num)
        )
      return losses.mix_loss(
        train_logits(model, rows, mixture, epoch, batch_num, 1),
        batch.targets,
        mix_targets,
        coefficient,
        *rows.weigh(batch.weights),
        offset=offset,
      )

    def loss(trainable, rows: rows_lib.Rows, epoch, batch_num):
      batch: Batch = rows.examples
      model = weights._replace(trainable=trainable)

      def strong_logits(model) -> tf.Tensor:
        return train_logits(model, rows, batch.strong, epoch, batch_num, 0)

      logits = strong_logits(model)
      total = losses.cross_entropy(
        logits, batch.targets, *rows.weigh(batch.weights), offset=offset
      )
      if mix_loss_weight:
        # A pass of its own, normalized by the statistics of its batch (A.8).
        total += mix_loss_weight * mix_loss(model, rows, epoch, batch_num)
      if consistency is not None:
        total += consistency.loss(
          model,
          logits,
          batch.labels,
          *batch.confidences,
          *rows.weigh(),
          logits_fn=strong_logits,
          names=classifier.trainable_names,
        )
      # The authors' logs compare a weak view, by one more pass (A.14).
      return training_loop.BatchOutput(
        total,
        training_loop.count_correct(logits, batch.labels, rows.is_real),
      )

    training = training_loop.train(
      weights.trainable,
      optimizer_state,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
      given_labels=given_labels_lib.extend(given_labels, given),
    )
    return client_report.LocalTraining(
      training,
      num_labeled=images.number,
      num_confident=fix_data.number,
      weight=weight,
      measurements=measurements,
      report=report,
    )

  return train
