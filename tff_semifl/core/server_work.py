# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Server work: training on the server's labeled images."""

from collections.abc import Callable, Mapping
import dataclasses
import functools
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

# (weights, `RoundContext`, {'image', 'label'}, optimizer state) -> training.
SupervisedTrainingFn = Callable[..., training_loop.TrainingResult]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerWork:
  """The server's work in a round, in plain TensorFlow.

  Attributes:
    initialize: ( -> the state before round 0).
    train: (state, model weights, `RoundContext`, chunks of the server's data)
      -> state, weights and measurements by name.
  """

  initialize: Callable[[], Any]
  train: Callable[
    ..., tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]
  ]


def build_server_work(
  classifier: functional.ImageClassifier,
  training_fn: SupervisedTrainingFn,
  *,
  pretraining_fn: SupervisedTrainingFn | None = None,
  optimizer: optimizers.Optimizer,
  rate_factor: float = 1.0,
  keep_optimizer_state: bool = True,
) -> ServerWork:
  """Builds server work that trains on labeled images.

  `pretraining_fn` replaces `training_fn` in round 0. The learning rate is the
  round's rate times `rate_factor`. `keep_optimizer_state` says whether the
  optimizer's state is kept from round to round. Measurements are `loss` and
  `accuracy` over all steps of the round, NaN without steps.
  """

  def train(
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
  ):
    rate = context.learning_rate * rate_factor
    arguments = (
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizers.with_rate(optimizer, state, rate),
    )
    if pretraining_fn is None:
      result = training_fn(*arguments)
    else:
      result = tf.cond(
        context.round_num > 0,
        functools.partial(training_fn, *arguments),
        functools.partial(pretraining_fn, *arguments),
      )
    weights = weights._replace(trainable=result.trainable)
    # Unless the optimizer's state is kept, `state` is always the initial state.
    new_state = result.optimizer_state if keep_optimizer_state else state
    return new_state, weights, result.sums.means()

  return ServerWork(
    initialize=lambda: training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    ),
    train=train,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SupervisedTraining:
  """The server's training by cross-entropy, a `SupervisedTrainingFn`.

  Each epoch has a new order and new weak augmentation.

  Attributes:
    num_epochs: Epochs in each round (E in SemiFL's paper), 0 for no training;
      see `TrainingLoop` for fractions.
    logit_adjustment: The loss adds the logarithms of the class shares, times
      this factor, to the logits (Menon et al., ICLR 2021).
    is_balanced: Whether images are drawn with replacement, each class with the
      same probability, instead of each image once an epoch.
  """

  classifier: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  optimizer: optimizers.Optimizer
  num_epochs: float
  batch_size: int
  logit_adjustment: float = 0.0
  is_balanced: bool = False

  def __call__(
    self,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> training_loop.TrainingResult:
    node = federated_process.Node(context)
    offset = None
    if self.logit_adjustment:
      offset = self.logit_adjustment * log_shares(
        data['label'], self.classifier.num_classes
      )

    def loss(trainable, batch, epoch, batch_num, state):
      del state  # Always empty.
      images, labels = batch.examples
      logits = self.classifier.train_logits(
        weights._replace(trainable=trainable),
        images,
        node.seed(random_seeds.Purpose.DROPOUT_MASK, epoch, batch_num),
      )
      return training_loop.cross_entropy(logits, labels, offset=offset)

    return training_loop.TrainingLoop(
      optimizer=self.optimizer,
      num_epochs=self.num_epochs,
      batch_size=self.batch_size,
      epoch_data_fn=lambda epoch: self._epoch_data(node, epoch, data),
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state)

  def _epoch_data(
    self,
    node: federated_process.Node,
    epoch: tf.Tensor,
    data: Mapping[str, tf.Tensor],
  ) -> rows_lib.Rows:
    purpose = random_seeds.Purpose
    in_order = rows_lib.Rows((data['image'], data['label']))
    seed = node.seed(purpose.SERVER_ORDER, epoch)
    if self.is_balanced:
      in_order = draw_balanced(in_order, data['label'], seed)
    else:
      in_order = in_order.shuffle(seed)
    images, labels = in_order.examples
    augmented = self.weak_augmentation(
      images, node.seed(purpose.SERVER_AUGMENTATION, epoch)
    )
    return in_order.replace((augmented, labels))


def log_shares(labels: tf.Tensor, num_classes: int) -> tf.Tensor:
  """The logarithms of the labels' class shares, float32 [classes]."""
  counts = tf.math.unsorted_segment_sum(
    tf.ones_like(labels, tf.float32), labels, num_classes
  )
  counts = tf.maximum(counts, 1.0)
  return tf.math.log(counts / tf.reduce_sum(counts))


def draw_balanced(
  examples: rows_lib.Rows, labels: tf.Tensor, seed: tf.Tensor
) -> rows_lib.Rows:
  """Resamples the examples with replacement; classes are equally probable."""
  _, class_of, sizes = tf.unique_with_counts(labels)
  # In 64 bits, because the sum is over many examples.
  ends = tf.cumsum(1.0 / tf.cast(tf.gather(sizes, class_of), tf.float64))
  draws = random_draws.uniform([examples.number], seed)
  drawn = tf.searchsorted(
    ends,
    tf.cast(draws, tf.float64) * tf.cast(tf.size(sizes), tf.float64),
    side='right',
  )
  # The last end may be rounded to less than the number of classes.
  drawn = tf.minimum(drawn, examples.number - 1)
  return examples.replace(rows_lib.gather(examples.examples, drawn))
