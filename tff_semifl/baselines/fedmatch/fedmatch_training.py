# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training of FedMatch's server and clients, with labels at the server.

Kernels are sigma + phi (psi in the paper). The server trains sigma and clients
train phi, both on images in a fixed order.
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds


class ClientLossWeights(NamedTuple):
  """The weights of the terms of a client's loss.

  `consistency` (lambda_ICCS) is for the divergence from helpers, `agreement`
  for the cross-entropy with agreed labels, `l1` for the l1 norm of phi, `l2`
  for the squared l2 norm of sigma - phi.
  """

  consistency: float = 1e-2
  agreement: float = 1e-2
  l1: float = 1e-5
  l2: float = 10.0


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ServerTraining:
  """The server's training, without shuffling or augmentation.

  The loss is the mean cross-entropy times `loss_weight`, lambda_s in the paper.
  """

  classifier: functional.ImageClassifier
  optimizer: tff.learning.optimizers.Optimizer
  num_epochs: float
  batch_size: int
  loss_weight: float

  def __call__(
    self,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> training_loop.TrainingResult:
    del context

    def loss(trainable, batch, epoch, batch_num, state):
      del epoch, batch_num, state
      images, labels = batch.examples
      output = training_loop.cross_entropy(
        training_loop.train_logits(
          self.classifier, weights._replace(trainable=trainable), images
        ),
        labels,
      )
      return output._replace(loss=self.loss_weight * output.loss)

    return training_loop.TrainingLoop(
      optimizer=self.optimizer,
      num_epochs=self.num_epochs,
      batch_size=self.batch_size,
      epoch_data_fn=lambda _, now: (
        rows_lib.Rows((data['image'], data['label'])),
        now.state,
      ),
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ClientTraining:
  """A client's training with helpers.

  An image counts if the model in training is confident without augmentation.
  The consistency term draws the prediction for the image to the helpers'
  predictions. The agreement term draws the prediction under strong augmentation
  to the majority class of client and helpers. Both terms are zero if no image
  counts; without helpers consistency is zero. Regularization keeps phi sparse
  and close to sigma. `confidence_threshold`, in (0, 1], is inclusive. `helpers`
  are phi of other clients, stacked along the first dimension.
  """

  classifier: functional.ImageClassifier
  strong_augmentation: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  num_epochs: float
  batch_size: int
  confidence_threshold: float
  loss_weights: ClientLossWeights

  def __call__(
    self,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    helpers: tuple[tf.Tensor, ...],
  ) -> client_work.LocalTraining:
    num_images = tf.shape(data['image'])[0]
    kernels = fedmatch_networks.find_parts(self.classifier.trainable_names)

    node = federated_process.Node(context, data['client_id'])

    def epoch_data(epoch: tf.Tensor, now: training_loop.TrainingResult):
      seed = node.seed(random_seeds.Purpose.STRONG_VIEW, epoch)
      strong = self.strong_augmentation(data['image'], seed)
      rows = rows_lib.Rows((data['image'], strong, tf.range(num_images)))
      return rows, now.state

    def loss(trainable, batch, epoch, batch_num, given):
      del epoch, batch_num
      images, strong, indices = batch.examples
      model = weights._replace(trainable=trainable)
      logits = training_loop.train_logits(self.classifier, model, images)
      strong_logits = training_loop.train_logits(self.classifier, model, strong)
      of_helpers = helper_logits(self.classifier, weights, helpers, images)
      is_confident = pseudo_labels.is_confident(
        pseudo_labels.from_logits(logits), self.confidence_threshold
      )
      labels = agreed_labels(logits, of_helpers)
      return training_loop.BatchOutput(
        self.loss_weights.consistency
        * consistency_loss(logits, of_helpers, is_confident)
        + self.loss_weights.agreement
        * agreement_loss(strong_logits, labels, is_confident)
        + regularization(
          kernels.select_sigma(trainable),
          kernels.select_phi(trainable),
          self.loss_weights,
        ),
        training_loop.count_correct(strong_logits, labels, is_confident),
        tf.reduce_sum(tf.cast(is_confident, tf.float32)),
        given.extend(pseudo_labels.give_at_once(indices, labels, is_confident)),
      )

    training = training_loop.TrainingLoop(
      optimizer=self.optimizer,
      num_epochs=self.num_epochs,
      batch_size=self.batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state, pseudo_labels.no_given_labels())
    sums = training.sums
    # The report divides by the number of confident images: its result is the
    # mean over all images.
    loss_sum = sums.loss * tf.math.divide_no_nan(
      sums.num_examples, sums.num_visited
    )
    return client_work.labeled_in_steps(
      training._replace(sums=sums._replace(loss=loss_sum)),
      num_images,
      training.state,
    )


def helper_logits(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  helpers: tuple[tf.Tensor, ...],
  images: tf.Tensor,
) -> tf.Tensor:
  """The helpers' logits in training mode, float32 [helpers, batch, classes]."""
  parts = fedmatch_networks.find_parts(classifier.trainable_names)

  def predict(index: tf.Tensor, logits: tf.Tensor):
    phi = [tensor[index] for tensor in helpers]
    model = weights._replace(trainable=parts.with_phi(weights.trainable, phi))
    of_one = training_loop.train_logits(classifier, model, images)
    return index + 1, tf.concat([logits, of_one[tf.newaxis]], axis=0)

  # `tf.map_fn` cannot stack the logits of zero helpers.
  shape = [None, None, classifier.num_classes]
  _, logits = tf.while_loop(
    lambda index, _: index < tf.shape(helpers[0])[0],
    predict,
    (0, tf.zeros([0, tf.shape(images)[0], classifier.num_classes])),
    shape_invariants=(tf.TensorShape([]), tf.TensorShape(shape)),
  )
  return logits


def agreed_labels(logits: tf.Tensor, helper_logits: tf.Tensor) -> tf.Tensor:
  """The class that most models predict, int32 [batch]; in a tie, the lowest.

  `logits` are the client's, float32 [batch, classes]; `helper_logits` are
  float32 [helpers, batch, classes], possibly with no helper.
  """
  all_logits = tf.concat([logits[tf.newaxis], helper_logits], axis=0)
  votes = tf.one_hot(tf.argmax(all_logits, axis=-1), logits.shape[-1])
  return tf.argmax(tf.reduce_sum(votes, axis=0), -1, output_type=tf.int32)


def consistency_loss(
  logits: tf.Tensor, helper_logits: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """The mean of KL(helper || client) over helpers and counted images, or 0.

  Logits are as in `agreed_labels`; `is_counted` is bool [batch]. The result is
  0 without helpers or counted images.
  """
  divergences = losses.divergence_of_each(helper_logits, logits)
  num_helpers = tf.cast(tf.shape(helper_logits)[0], tf.float32)
  return tf.math.divide_no_nan(
    _mean_of_counted(tf.reduce_sum(divergences, axis=0), is_counted),
    num_helpers,
  )


def agreement_loss(
  strong_logits: tf.Tensor, labels: tf.Tensor, is_counted: tf.Tensor
) -> tf.Tensor:
  """The mean cross-entropy of counted images with agreed labels, or 0."""
  return _mean_of_counted(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels, strong_logits),
    is_counted,
  )


def regularization(
  sigma: Sequence[tf.Tensor],
  phi: Sequence[tf.Tensor],
  loss_weights: ClientLossWeights,
) -> tf.Tensor:
  """The terms that keep phi sparse and close to sigma, a scalar."""
  return tf.add_n(
    [
      loss_weights.l1 * tf.reduce_sum(tf.abs(p))
      + loss_weights.l2 * tf.reduce_sum(tf.square(s - p))
      for s, p in zip(sigma, phi, strict=True)
    ]
  )


def _mean_of_counted(values: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
  counted = tf.cast(is_counted, values.dtype)
  return tf.math.divide_no_nan(
    tf.reduce_sum(values * counted), tf.reduce_sum(counted)
  )
