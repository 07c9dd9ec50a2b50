# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a client does in a round of SemiFL: label once, then fix and mix.

SemiFL (NeurIPS 2022), section 3.4 and Algorithm 1, A.6 to A.11: the images
that the received model is sure of make the fix data set, of which strong views
are trained on; just as many images drawn from all of the client's, sure or
not, make the mix data set, with which the fix images are mixed.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import losses
from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.augment import mixup
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import pseudo_labelling
from tff_semifl.work import round_context
from tff_semifl.work import training_loop

# (guidance, pseudo-labels of the client's images) -> float32 [classes].
LogitOffsetFn = Callable[[Any, pseudo_labels.PseudoLabels], tf.Tensor]
# Pseudo-labels of the client's images -> any structure of tensors.
ReportFn = Callable[[pseudo_labels.PseudoLabels], Any]


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
  logit_offset_fn: LogitOffsetFn | None = None,
  report_fn: ReportFn | None = None,
) -> client_work.LocalTrainingFn:
  """Builds what a client of SemiFL does, plain TensorFlow.

  A client that has no confident image has no update to report (A.11).

  Args:
    classifier: The model.
    weak_augmentation: For pseudo-labels and for mixing.
    strong_augmentation: For the fix loss.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round, E in the paper; see `training_loop.train`.
    batch_size: Images in a step; the last of an epoch may have fewer.
    selection_fn: Says which images are in the fix data set, as
      `pseudo_labels.at_least(tau)` does. If it says weights, the losses of a
      fix image, and of what is mixed with it, are multiplied by its weight.
    mixup_concentration: Both parameters of the Beta distribution, a in the
      paper.
    mix_loss_weight: Factor on the mix loss, lambda in the paper. 0 gives
      training on the fix data set alone.
    soft_labels: Whether to train on the probabilities of all classes, as the
      paper's formulas have it, instead of the most probable class (D12).
    mix_once_per_round: Whether all epochs mix with the same images, as in the
      paper, instead of each with a new draw (D13).
    mix_before_augmentation: Whether raw images are mixed and the mixture
      augmented, as in the paper, instead of two weak views mixed (D14).
    logit_offset_fn: What is added to logits in both losses; by default nothing.
    report_fn: What the client says of the labels of all its images to
      `Guidance.update`; by default nothing.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_work.LocalTraining:
    images, client_id = data['image'], data['client_id']
    num_images = tf.shape(images)[0]
    labels = pseudo_labelling.label_images(
      classifier,
      weights,
      images,
      context=context,
      client_id=client_id,
      weak_augmentation=weak_augmentation,
    )
    targets = labels.probabilities if soft_labels else labels.labels
    is_confident, weights_of_images = pseudo_labels.split_selection(
      selection_fn(context.guidance, labels)
    )
    offset = None
    if logit_offset_fn is not None:
      offset = logit_offset_fn(context.guidance, labels)
    confident = tf.where(is_confident)[:, 0]
    num_confident = tf.shape(confident)[0]

    def seed(purpose: random_seeds.Purpose, *keys: tf.Tensor) -> tf.Tensor:
      return random_seeds.stateless_seed(
        context.seed, purpose, context.round_num, client_id, *keys
      )

    def epoch_data(epoch: tf.Tensor):
      purpose = random_seeds.Purpose
      fix = tf.random.experimental.stateless_shuffle(
        confident, seed(purpose.FIX_ORDER, epoch)
      )
      fix_images = tf.gather(images, fix)
      fix_batch = (
        strong_augmentation(fix_images, seed(purpose.STRONG_VIEW, epoch)),
        tf.gather(targets, fix),
        tf.gather(labels.labels, fix),
        tuple(tf.gather(array, fix) for array in weights_of_images),
      )
      if not mix_loss_weight:
        return fix_batch
      # With replacement, from all images.
      mix = tf.random.stateless_uniform(
        [num_confident],
        seed(purpose.MIX_DRAW, 0 if mix_once_per_round else epoch),
        minval=0,
        maxval=tf.maximum(num_images, 1),
        dtype=tf.int32,
      )
      mix_images = tf.gather(images, mix)
      if not mix_before_augmentation:
        fix_images = weak_augmentation(
          fix_images, seed(purpose.WEAK_VIEW, epoch)
        )
        mix_images = weak_augmentation(
          mix_images, seed(purpose.MIX_VIEW, epoch)
        )
      return *fix_batch, fix_images, mix_images, tf.gather(targets, mix)

    def loss(trainable, batch, epoch, batch_num):
      strong, fix_targets, fix_labels, fix_weights, *mix_batch = batch
      model_weights = functional.ModelWeights(trainable, weights.non_trainable)
      strong_logits = classifier.train_logits(
        model_weights, tf.cast(strong, tf.float32)
      )
      total = losses.cross_entropy(
        strong_logits, fix_targets, *fix_weights, offset=offset
      )
      if mix_loss_weight:
        fix, mix, mix_targets = mix_batch
        coefficient = mixup.sample_coefficient(
          seed(random_seeds.Purpose.MIXUP_COEFFICIENT, epoch, batch_num),
          concentration=mixup_concentration,
        )
        mixture = mixup.mix(
          tf.cast(fix, tf.float32), tf.cast(mix, tf.float32), coefficient
        )
        if mix_before_augmentation:
          mixture = weak_augmentation(
            mixture, seed(random_seeds.Purpose.WEAK_VIEW, epoch, batch_num)
          )
        # A pass of its own, normalised by the statistics of its batch (A.8).
        total += mix_loss_weight * losses.mix_loss(
          classifier.train_logits(model_weights, mixture),
          fix_targets,
          mix_targets,
          coefficient,
          *fix_weights,
          offset=offset,
        )
      # The authors' logs compare a weak view, at the cost of one more pass
      # (A.14).
      return training_loop.BatchOutput(
        total, training_loop.count_correct(strong_logits, fix_labels)
      )

    training = training_loop.train(
      weights.trainable,
      optimizer_state,
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
      given_labels=given_labels_lib.extend(
        given_labels,
        given_labels_lib.made_at_once(
          tf.range(num_images), labels.labels, is_confident
        ),
      ),
    )
    return client_work.LocalTraining(
      training,
      num_labelled=num_images,
      num_confident=num_confident,
      weight=tf.cast(num_confident > 0, tf.float32),
      report=() if report_fn is None else report_fn(labels),
    )

  return train
