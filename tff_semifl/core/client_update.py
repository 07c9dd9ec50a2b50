# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training of a client with a client method.

The method labels all images: once with the received model (SemiFL, section
3.3), or with the model in training at the beginning of each epoch or batch by
batch, as in FixMatch. The images that it selects are trained on.
"""

from collections.abc import Mapping
import dataclasses
import math
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import client_method
from tff_semifl.core import client_work
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import hook_arguments
from tff_semifl.core import round_context
from tff_semifl.data import example_kinds
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import draws
from tff_semifl.randomness import random_seeds
from tff_semifl.training import client_report
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import loop_form
from tff_semifl.training import pseudo_labels
from tff_semifl.training import rows as rows_lib
from tff_semifl.training import training_loop

# Inference has no batch statistics: the size changes only memory and speed.
INFERENCE_BATCH_SIZE = 250

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

  def build(
    self, method: client_method.ClientMethod
  ) -> client_work.LocalTrainingFn:
    """Builds the local training that `client_work.build_client_work` takes.

    Raises:
      ValueError: If the form's loop cannot apply the strong augmentation.
    """
    nothing = example_kinds.zeros(self.model.image_shape)
    self.form.check_views(self.strong_augmentation, nothing)

    def train(
      weights: functional.ModelWeights,
      context: round_context.RoundContext,
      data: Mapping[str, tf.Tensor],
      optimizer_state: Any,
      given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
    ) -> client_report.LocalTraining:
      node = round_context.Node(context, data['client_id'])
      images = Images(
        data['image'],
        tf.range(tf.shape(data['image'])[0]),
        (data['label'],) if 'label' in data else (),
      )
      return Client(self, method, weights, node).train(
        images, optimizer_state, given_labels
      )

    return train


class Images(NamedTuple):
  """Images of a client, one per row.

  Attributes:
    image: uint8 [images, height, width, channels].
    index: int32 [images], the position among the client's images.
    true_label: (int32 [images],) if the client has labels, else ().
    label: The labels that the method gave, or ().
    weight: (float32 [images],), the weights of images in the loss, or () for
      equal weights.
    is_selected: bool [images], whether an image is trained on, or ().
  """

  image: tf.Tensor
  index: tf.Tensor
  true_label: tuple[tf.Tensor, ...]
  label: Any = ()
  weight: tuple[tf.Tensor, ...] = ()
  is_selected: Any = ()


class _Views(NamedTuple):
  """The augmented images of an epoch, in the order of training."""

  images: Images
  weak: tf.Tensor
  strong: tf.Tensor
  mix: hook_arguments.Mix | tuple[()]


@dataclasses.dataclass(frozen=True)
class Client:
  """A client in a round.

  Attributes:
    received: The weights that the client received.
    node: The source of random numbers.
  """

  training: Training
  method: client_method.ClientMethod
  received: functional.ModelWeights
  node: round_context.Node

  def train(
    self,
    images: Images,
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels,
  ) -> client_report.LocalTraining:
    """Labels the images, trains, and reports."""
    number = tf.shape(images.image)[0]
    context = self.client_context(rows_lib.AllRows(images), self.received)
    state = self.method.init_state(context)
    if self.method.labels_are_true:
      given_labels = given_labels_lib.NOT_KEPT
    if self.method.relabel == 'round':
      labels, images, given = self.label(
        context, rows_lib.AllRows(images), state
      )
      given_labels = given_labels_lib.extend(given_labels, given)
      context = dataclasses.replace(
        context,
        labels=labels,
        num_trained_on=tf.math.count_nonzero(
          images.is_selected, dtype=tf.int32
        ),
      )

      result = self._run(
        images, context, optimizer_state, state, given_labels_lib.NOT_KEPT
      )._replace(given_labels=given_labels)
    else:
      result = self._run(images, context, optimizer_state, state, given_labels)
    report = self._report(context, result.state)
    if self.method.labels_are_true:
      return client_report.trained_on_true_labels(result, number)._replace(
        report=report
      )
    if context.labels is None:
      return client_report.labeled_in_steps(result, number)._replace(
        report=report
      )
    return client_report.LocalTraining(
      result,
      num_labeled=number,
      num_confident=context.num_trained_on,
      weight=self._weigh(context),
      measurements=client_report.measure_confidences(
        context.labels.confidences
      ),
      report=report,
    )

  def _weigh(self, context: hook_arguments.ClientContext) -> tf.Tensor:
    weight = tf.convert_to_tensor(self.method.weigh(context))
    if weight.dtype != tf.float32 or weight.shape.rank != 0:
      raise self._wrong_result('weigh', 'a float32 scalar', weight)
    return weight

  def _wrong_result(
    self, hook: str, wanted: str, found: tf.Tensor
  ) -> TypeError:
    """The error of a hook that returns another dtype or rank."""
    return TypeError(
      f'{type(self.method).__qualname__}: {hook} must return {wanted}, not'
      f' {found.dtype.name} {found.shape}'
    )

  def _report(self, context: hook_arguments.ClientContext, state: Any) -> Any:
    """The reports of the method and of its parts, without empty ones."""
    own = self.method.report(context, state)
    reports = {
      name: part.report(context.of_part(name))
      for name, part in self.method.parts.items()
    }
    reports = {k: each for k, each in reports.items() if tf.nest.flatten(each)}
    if not reports:
      return own
    return (
      {guidance_lib.OWN: own, **reports} if tf.nest.flatten(own) else reports
    )

  def client_context(
    self,
    rows: rows_lib.Rows,
    weights: functional.ModelWeights,
    *keys: tf.Tensor,
  ) -> hook_arguments.ClientContext:
    """The `ClientContext` that labels all images, each weakly augmented once.

    `rows` are `Images`; `keys` distinguish several labelings in one round.
    """
    model = self.training.model
    views = rows.replace(
      self.training.weak_augmentation(
        rows.examples.image, self.node.seed(_Purpose.PSEUDO_LABEL_VIEW, *keys)
      )
    )

    def infer(function, width):
      return lambda weights: views.map_batches(
        lambda batch: function(weights, tf.cast(batch, tf.float32)),
        width=width,
        size=INFERENCE_BATCH_SIZE,
      )

    def infer_features():
      features = features_lib.require_features(model.features)
      return infer(features.infer, features.size)

    own, of_parts = guidance_lib.split(
      self.node.context.guidance,
      [name for name, part in self.method.parts.items() if part.is_guiding],
    )
    return hook_arguments.ClientContext(
      images=rows.examples.image,
      guidance=own,
      part_guidance=of_parts,
      received=self.received,
      weights=weights,
      num_classes=model.num_classes,
      logits_fn=infer(model.logits, model.num_classes),
      features_fn=lambda weights: infer_features()(weights),
      true_labels=next(iter(rows.examples.true_label), None),
    )

  def _context_of_batch(
    self,
    context: hook_arguments.ClientContext,
    batch: rows_lib.Rows,
    weights: functional.ModelWeights,
  ) -> hook_arguments.ClientContext:
    """The `ClientContext` that labels a batch of `_Views`, weakly augmented.

    The model normalizes as in training, but without dropout.
    """
    model, views = self.training.model, batch.examples

    def infer(function):
      return lambda weights: function(
        weights, tf.cast(views.weak, tf.float32), num_real=batch.num_real
      )

    return dataclasses.replace(
      context,
      images=views.weak,
      weights=weights,
      logits_fn=infer(model.batch_logits),
      features_fn=lambda weights: infer(
        features_lib.require_features(model.features).batch
      )(weights),
      true_labels=next(iter(views.images.true_label), None),
    )

  def label(
    self, context: hook_arguments.ClientContext, rows: rows_lib.Rows, state: Any
  ) -> tuple[pseudo_labels.PseudoLabels, Images, given_labels_lib.GivenLabels]:
    """Labels images.

    `rows` are the images of `context`, as `Images`.

    Returns:
      The labels; the images with label, weight and selection; and the labels in
      the form that a simulation compares with the truth.
    """
    labels, selection = self.method.label(context, state)
    labels = pseudo_labels.complete(labels, context.num_classes)
    selection = tf.convert_to_tensor(selection)
    if (
      selection.dtype not in (tf.bool, tf.float32) or selection.shape.rank != 1
    ):
      raise self._wrong_result(
        'label', 'labels with bool or float32 [images]', selection
      )
    is_selected, weight = pseudo_labels.split_selection(selection)
    images = rows.examples._replace(
      label=labels.as_rows(), weight=weight, is_selected=is_selected
    )
    given = given_labels_lib.made_at_once(
      images.index,
      labels.labels,
      is_selected,
      None if rows.num_real is None else rows.is_real,
    )
    return labels, images, given

  def _run(
    self,
    images: Images,
    context: hook_arguments.ClientContext,
    optimizer_state: Any,
    state: Any,
    given_labels: given_labels_lib.KeptLabels,
  ) -> training_loop.TrainingResult:
    """Trains on `images` with the loop of the form."""
    return self.training.form.run(
      lambda rows: self.take_steps(
        rows, context, optimizer_state, state, given_labels
      ),
      images,
    )

  def take_steps(
    self,
    rows: rows_lib.Rows,
    context: hook_arguments.ClientContext,
    optimizer_state: Any,
    state: Any,
    given_labels: given_labels_lib.KeptLabels,
  ) -> training_loop.TrainingResult:
    """Takes all steps on rows of `Images`, and extends `given_labels`."""
    relabel = self.method.relabel
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
        return training_loop.Selection(self._views(selected, rows, epoch))
      weights = self.received._replace(trainable=now.trainable)
      _, images, given = self.label(
        self.client_context(rows, weights, epoch), rows, now.state
      )
      labeled = rows.replace(images)
      views = self._views(labeled.keep(images.is_selected), labeled, epoch)
      return training_loop.Selection(views, given)

    def select(
      batch: rows_lib.Rows, now: training_loop.TrainingResult
    ) -> training_loop.Selection:
      weights = self.received._replace(trainable=now.trainable)
      views = batch.examples
      _, images, given = self.label(
        self._context_of_batch(context, batch, weights),
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
        weights=self.received._replace(trainable=trainable),
        client=context,
        model=self.training.model,
        rows=batch,
        image_weights=views.images.weight,
        weak_augmentation=self.training.weak_augmentation,
        node=self.node,
        keys=(epoch, batch_num),
      )
      total = self.method.loss(step, state)
      # Compares predictions of the loss's first forward pass, mostly for strong
      # augmentation. The authors log those for weak augmentation, at the cost
      # of one more pass.
      return training_loop.BatchOutput(
        total,
        tf.constant(0.0)
        if step.first_logits is None
        else training_loop.count_correct(
          step.first_logits, step.labels.labels, batch.is_real
        ),
      )

    def after_step(state: Any, trainable: tuple[tf.Tensor, ...]) -> Any:
      weights = self.received._replace(trainable=trainable)
      return self.method.after_step(state, weights)

    return training_loop.train(
      self.received.trainable,
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

  def _views(
    self, selected: rows_lib.Rows, rows: rows_lib.Rows, epoch: tf.Tensor
  ) -> rows_lib.Rows:
    """Augments the images of an epoch.

    `selected` are the images to train on; those for mixup are drawn from
    `rows`.
    """
    training, seed = self.training, self.node.seed
    in_order = selected.shuffle(seed(_Purpose.FIX_ORDER, epoch))
    images = in_order.examples
    mix = ()
    if self.method.relabel != 'batch':
      drawn = draws.draw_with_replacement(
        rows.examples,
        draws.count_rows(images),
        seed(_Purpose.MIX_DRAW, self.method.mix_key(epoch)),
        num_real=rows.num_real,
      )
      mix = hook_arguments.Mix(
        drawn.image,
        training.weak_augmentation(drawn.image, seed(_Purpose.MIX_VIEW, epoch)),
        drawn.label,
      )
    return in_order.replace(
      _Views(
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
