# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training of a client with a client method.

The method labels all images before training (SemiFL, section 3.3), or each
batch during training (FixMatch).
"""

import collections
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import compiled_steps
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import labeling
from tff_semifl.core import method as method_lib
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

_Purpose = random_seeds.Purpose


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
  """The settings of local training that do not depend on the method.

  Attributes:
    weak_augmentation: The augmentation for labeling and training.
    strong_augmentation: The augmentation for training.
    num_epochs: Epochs in each round (E in SemiFL's paper). A number below 1 is
      a fraction of the batches of one epoch. With 0, clients do not train.
    jit_compile: Whether XLA compiles the steps of a round.
  """

  model: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  num_epochs: float
  batch_size: int
  jit_compile: bool = False


def build_local_training(
  method: method_lib.Method, training: Training
) -> client_work.LocalTrainingFn:
  """Builds the `train_fn` of `client_work.build_client_work`."""
  if training.jit_compile:
    compiled_steps.check_can_be_compiled(
      training.strong_augmentation, sources.zeros(training.model.image_shape)
    )

  def train(
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    memory: Any = (),
  ) -> client_work.LocalTraining:
    messages = context.guidance or {}
    data = method.select_data(data, messages.get(method_lib.OWN))
    labeler = labeling.Labeler(
      model=training.model,
      weak_augmentation=training.weak_augmentation,
      method=method,
      received=weights,
      node=federated_process.Node(context, data['client_id']),
      memory=memory,
    )
    number = tf.shape(data['image'])[0]
    labels = data.get('label')
    if labels is not None:
      # A client without labels has an empty field.
      missing = [[0, number - tf.size(labels)]]
      labels = tf.pad(labels, missing, constant_values=sources.UNKNOWN_LABEL)
    images = labeling.Images(data['image'], tf.range(number), labels)
    return _train(training, labeler, images, optimizer_state)

  return train


def _train(
  training: Training,
  labeler: labeling.Labeler,
  images: labeling.Images,
  optimizer_state: Any,
) -> client_work.LocalTraining:
  method = labeler.method
  all_images = rows_lib.Rows(images)
  number = all_images.number
  context = labeler.context(all_images)
  state = method_lib.to_tensors(method.init_state, method.init_state(context))
  given = None
  if method.relabel == 'round':
    labels, images, given = labeler.label(context, all_images, state)
    context = dataclasses.replace(
      context,
      labels=labels,
      num_trained_on=tf.math.count_nonzero(images.is_selected, dtype=tf.int32),
    )

  def take_steps(rows: rows_lib.Rows) -> training_loop.TrainingResult:
    steps = Steps(training, labeler, context, rows)
    return steps.take(optimizer_state, state)

  if training.jit_compile:
    result = compiled_steps.run_compiled(take_steps, images)
  else:
    result = take_steps(rows_lib.Rows(images))
  state, given_in_steps = result.state
  trained = labeler.received._replace(trainable=result.trainable)
  if not training.num_epochs:
    result = result._replace(trainable=())
  memory = method.after_round(context, state, trained)
  memory = method_lib.check_like(method.after_round, labeler.memory, memory)
  report = _report(
    method, dataclasses.replace(context, new_memory=memory), state
  )
  is_pseudo = labeler.find_pseudo(images)
  if method.labels_are_true:
    local = client_work.LocalTraining(
      result, client_work.has_images(context.num_trained_on)
    )
  elif context.labels is None:
    local = client_work.labeled_in_steps(result, number, given_in_steps)
  else:
    confidences = context.labels.confidences
    if is_pseudo is not True:
      confidences = tf.boolean_mask(confidences, is_pseudo)
    local = client_work.LocalTraining(
      result,
      method_lib.check_scalar(method.weigh, method.weigh(context)),
      num_labeled=number,
      num_confident=context.num_trained_on,
      # The term of a client in a mean over clients.
      measurements=collections.OrderedDict(
        highest_confidence=client_work.Ratio(
          tf.maximum(tf.reduce_max(confidences), 0.0),
          tf.cast(tf.size(confidences) > 0, tf.float32),
        )
      ),
      given_labels=given,
    )
  if is_pseudo is not True:
    local = local.without_true_labels()
  return local._replace(report=report, memory=memory)


def _report(
  method: method_lib.Method, context: hook_arguments.ClientContext, state: Any
) -> Any:
  """The reports of the method and its parts by name; () without reports."""
  reports = {method_lib.OWN: method.report(context, state)}
  for name, part in method.parts.items():
    reports[name] = part.report(context.of_part(name))
  for name, each in reports.items():
    reports[name] = _check_sums(method.parts.get(name, method).report, each)
  return {k: each for k, each in reports.items() if tf.nest.flatten(each)} or ()


def _check_sums(hook: method_lib.Hook, report: Any) -> Any:
  """Checks that a report can be summed over clients, and returns it."""
  wanted = f'{method_lib.NUMBERS}, of shapes that are the same for all clients'
  report = method_lib.to_tensors(hook, report, wanted)
  for each in tf.nest.flatten(report):
    is_number = each.dtype.is_floating or each.dtype.is_integer
    if not is_number or not each.shape.is_fully_defined():
      raise method_lib.wrong_result(hook, wanted, each)
  return report


@dataclasses.dataclass(frozen=True)
class Steps:
  """The training steps of a client in a round; `rows` has `labeling.Images`.

  The state of the training loop is a pair: the method's state, and the
  pseudo-labels of the steps, which are () if images are labeled once a round.
  """

  training: Training
  labeler: labeling.Labeler
  context: hook_arguments.ClientContext
  rows: rows_lib.Rows

  def take(
    self, optimizer_state: Any, state: Any
  ) -> training_loop.TrainingResult:
    """Takes all steps; `state` is the method's initial state."""
    training, method, rows = self.training, self.labeler.method, self.rows
    given = ()
    if method.relabel != 'round':
      given = pseudo_labels.no_given_labels()
      if rows.num_real is not None:
        # The last batch of an epoch may be padded.
        given = compiled_steps.LabelBuffer.create(
          math.ceil(training.num_epochs) * rows.num_rows + training.batch_size
        )
    loop = training_loop.TrainingLoop(
      optimizer=training.optimizer,
      num_epochs=training.num_epochs,
      batch_size=training.batch_size,
      epoch_data_fn=self._epoch_data,
      loss_fn=self._loss,
      select_fn=self._select if method.relabel == 'batch' else None,
      after_step_fn=self._after_step,
    )
    try:
      return loop.train(
        self.labeler.received.trainable, optimizer_state, (state, given)
      )
    except training_loop.NoGradientError as error:
      raise method_lib.wrong_result(
        method.loss, 'a loss that has a gradient', str(error)
      ) from error

  def _weights(self, trainable: tuple[tf.Tensor, ...]):
    return self.labeler.received._replace(trainable=trainable)

  def _epoch_data(self, epoch: tf.Tensor) -> rows_lib.Rows:
    training, rows = self.training, self.rows
    seed = self.labeler.node.seed
    is_labeled = self.labeler.method.relabel == 'round'
    selected = rows.keep(rows.examples.is_selected) if is_labeled else rows
    in_order = selected.shuffle(seed(_Purpose.FIX_ORDER, epoch))
    images = in_order.examples
    mix = None
    if is_labeled:
      drawn = rows.draw(in_order.num_rows, seed(_Purpose.MIX_DRAW, epoch))
      mix = hook_arguments.Mix(
        drawn.image,
        training.weak_augmentation(drawn.image, seed(_Purpose.MIX_VIEW, epoch)),
        drawn.label,
      )
    augmented = labeling.AugmentedImages(
      images,
      weak=training.weak_augmentation(
        images.image, seed(_Purpose.WEAK_VIEW, epoch)
      ),
      strong=training.strong_augmentation(
        images.image, seed(_Purpose.STRONG_VIEW, epoch)
      ),
      mix=mix,
    )
    return in_order.replace(augmented)

  def _select(
    self, batch: rows_lib.Rows, now: training_loop.TrainingResult
  ) -> tuple[rows_lib.Rows, Any]:
    state, given = now.state
    weights = self._weights(now.trainable)
    _, images, new = self.labeler.label(
      self.labeler.context_of_batch(self.context, batch, weights),
      batch.replace(batch.examples.images),
      state,
    )
    kept = batch.replace(batch.examples._replace(images=images))
    return kept.keep(images.is_selected), (state, given.extend(new))

  def _loss(
    self,
    trainable: tuple[tf.Tensor, ...],
    batch: rows_lib.Rows,
    epoch: tf.Tensor,
    batch_num: tf.Tensor,
    state: Any,
  ) -> training_loop.BatchOutput:
    views = batch.examples
    labels = views.images.label
    if self.context.labels is not None:
      # The rows repeat the offset for each image.
      labels = labels._replace(offset=self.context.labels.offset)
    step = hook_arguments.Step(
      images=views.images.image,
      weak=views.weak,
      strong=views.strong,
      labels=labels,
      mix=views.mix,
      weights=self._weights(trainable),
      client=self.context,
      model=self.training.model,
      rows=batch,
      image_weights=views.images.weight,
      node=self.labeler.node,
      keys=(epoch, batch_num),
    )
    method = self.labeler.method
    total = method_lib.check_scalar(method.loss, method.loss(step, state[0]))
    # The accuracy of the loss's first forward pass, mostly for strong
    # augmentation. SemiFL's authors log the accuracy for weak augmentation,
    # at the cost of one more pass.
    num_correct = tf.constant(math.nan)
    if step.first_logits is not None:
      num_correct = training_loop.count_correct(
        step.first_logits, step.labels.labels, batch.is_real
      )
    return training_loop.BatchOutput(total, num_correct)

  def _after_step(self, state: Any, trainable: tuple[tf.Tensor, ...]) -> Any:
    hook = self.labeler.method.after_step
    after = hook(state[0], self._weights(trainable))
    return method_lib.check_like(hook, state[0], after), state[1]
