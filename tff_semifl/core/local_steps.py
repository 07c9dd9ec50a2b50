# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The steps of local training with a client method."""

import dataclasses
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import hook_arguments
from tff_semifl.core import hook_results
from tff_semifl.core import labeling
from tff_semifl.models import functional
from tff_semifl.randomness import draws
from tff_semifl.randomness import random_seeds
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import loop_form
from tff_semifl.training import rows as rows_lib
from tff_semifl.training import training_loop

_Purpose = random_seeds.Purpose


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
  """The settings of local training that do not depend on the method.

  Attributes:
    weak_augmentation: For labeling and for training.
    strong_augmentation: For training.
    optimizer: Takes a step a batch, with the round's learning rate.
    num_epochs: Epochs in each round (E in SemiFL's paper); below 1, the
      fraction of the batches of one epoch.
    batch_size: Images in a step; the last batch of an epoch may be smaller.
  """

  model: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  num_epochs: float
  batch_size: int
  form: loop_form.LoopForm = loop_form.DYNAMIC


@dataclasses.dataclass(frozen=True)
class Steps:
  """The steps of a client in a round."""

  training: Training
  labeler: labeling.Labeler

  def take(
    self,
    rows: rows_lib.Rows,
    context: hook_arguments.ClientContext,
    optimizer_state: Any,
    state: Any,
    given_labels: given_labels_lib.KeptLabels,
  ) -> training_loop.TrainingResult:
    """Takes all steps on `labeling.Images`, and extends `given_labels`."""
    relabel = self.labeler.method.relabel
    selected = rows
    if relabel == 'round':
      selected = rows.keep(rows.examples.is_selected)
    else:
      # The last batch of an epoch may be padded.
      given_labels = self.training.form.make_room(
        given_labels,
        math.ceil(self.training.num_epochs) * draws.count_rows(rows.examples)
        + self.training.batch_size,
      )

    def epoch_data(
      epoch: tf.Tensor, now: training_loop.TrainingResult
    ) -> training_loop.Selection:
      if relabel != 'epoch':
        return training_loop.Selection(self._augment(selected, rows, epoch))
      weights = self.labeler.received._replace(trainable=now.trainable)
      _, images, given = self.labeler.label(
        self.labeler.context(rows, weights, epoch), rows, now.state
      )
      labeled = rows.replace(images)
      views = self._augment(labeled.keep(images.is_selected), labeled, epoch)
      return training_loop.Selection(views, given)

    def select(
      batch: rows_lib.Rows, now: training_loop.TrainingResult
    ) -> training_loop.Selection:
      weights = self.labeler.received._replace(trainable=now.trainable)
      views = batch.examples
      _, images, given = self.labeler.label(
        self.labeler.context_of_batch(context, batch, weights),
        batch.replace(views.images),
        now.state,
      )
      kept = batch.replace(views._replace(images=images))
      return training_loop.Selection(kept.keep(images.is_selected), given)

    def loss(
      trainable: tuple[tf.Tensor, ...],
      batch: rows_lib.Rows,
      epoch: tf.Tensor,
      batch_num: tf.Tensor,
      state: Any,
    ) -> training_loop.BatchOutput:
      views = batch.examples
      labels = views.images.label
      if context.labels is not None:
        # The offset is one for all images, and not a row of each.
        labels = labels._replace(offset=context.labels.offset)
      step = hook_arguments.Step(
        images=views.images.image,
        weak=views.weak,
        strong=views.strong,
        labels=labels,
        mix=views.mix or None,
        weights=self.labeler.received._replace(trainable=trainable),
        client=context,
        model=self.training.model,
        rows=batch,
        image_weights=views.images.weight,
        weak_augmentation=self.training.weak_augmentation,
        node=self.labeler.node,
        keys=(epoch, batch_num),
      )
      method = self.labeler.method
      total = hook_results.scalar(method.loss, method.loss(step, state))
      # Compares predictions of the loss's first forward pass, mostly for strong
      # augmentation. The authors log those for weak augmentation, at the cost
      # of one more pass.
      return training_loop.BatchOutput(
        total,
        # Without logits it is not measured.
        tf.constant(math.nan)
        if step.first_logits is None
        else training_loop.count_correct(
          step.first_logits, step.labels.labels, batch.is_real
        ),
      )

    def after_step(state: Any, trainable: tuple[tf.Tensor, ...]) -> Any:
      weights = self.labeler.received._replace(trainable=trainable)
      hook = self.labeler.method.after_step
      after = hook(state, weights)
      hook_results.check_like(hook, state, after)
      return after

    try:
      return training_loop.train(
        self.labeler.received.trainable,
        optimizer_state,
        optimizer=self.training.optimizer,
        num_epochs=self.training.num_epochs,
        batch_size=self.training.batch_size,
        epoch_data_fn=epoch_data,
        loss_fn=loss,
        select_fn=select if relabel == 'batch' else None,
        state=state,
        after_step_fn=after_step,
        given_labels=given_labels,
      )
    except training_loop.NoGradientError as error:
      raise hook_results.wrong(
        self.labeler.method.loss, 'a loss that has a gradient', str(error)
      ) from error

  def _augment(
    self, selected: rows_lib.Rows, rows: rows_lib.Rows, epoch: tf.Tensor
  ) -> rows_lib.Rows:
    """Augments the images of an epoch.

    `selected` are the images to train on; those for mixup are drawn from
    `rows`.
    """
    training, seed = self.training, self.labeler.node.seed
    in_order = selected.shuffle(seed(_Purpose.FIX_ORDER, epoch))
    images = in_order.examples
    mix = ()
    if self.labeler.method.relabel != 'batch':
      drawn = draws.draw_with_replacement(
        rows.examples,
        draws.count_rows(images),
        seed(_Purpose.MIX_DRAW, self.labeler.method.mix_key(epoch)),
        num_real=rows.num_real,
      )
      mix = hook_arguments.Mix(
        drawn.image,
        training.weak_augmentation(drawn.image, seed(_Purpose.MIX_VIEW, epoch)),
        drawn.label,
      )
    return in_order.replace(
      labeling.AugmentedImages(
        images,
        weak=training.weak_augmentation(
          images.image, seed(_Purpose.WEAK_VIEW, epoch)
        ),
        strong=training.strong_augmentation(
          images.image, seed(_Purpose.STRONG_VIEW, epoch)
        ),
        mix=mix,
      )
    )
