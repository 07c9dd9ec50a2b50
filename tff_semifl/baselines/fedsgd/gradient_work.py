# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gradients instead of updates, for federated SGD of FixMatch.

A round is one step. Clients report the gradient of a batch of theirs, the
server adds its own and takes the step.
"""

import collections
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.data import pipelines
from tff_semifl.methods import label_selection
from tff_semifl.models import functional
from tff_semifl.randomness import draws
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import client_report
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import optimizers
from tff_semifl.training import pseudo_labels
from tff_semifl.training import rows
from tff_semifl.training import training_loop


def build_gradient_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  batch_size: int,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds local training whose update is the gradient of one batch.

  Data are of `pipelines.client_with_turn_type`: over the rounds that it takes
  part in, a client goes through its images in shuffled epochs. The loss is
  FixMatch's: the cross-entropy of confident images, strongly augmented,
  divided by the size of the whole batch. The last batch of an epoch may be
  smaller. The confidence threshold is in (0, 1], inclusive.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_report.LocalTraining:
    purpose = random_seeds.Purpose
    node = round_context.Node(context, data['client_id'])
    indices = draws.select_batch(
      tf.shape(data['image'])[0],
      batch_size,
      data['turn'],
      random_seeds.stateless_seed(context.seed, purpose.FIX_ORDER, node.key),
    )
    images = tf.gather(data['image'], indices)
    num_images = tf.shape(indices)[0]
    weak = weak_augmentation(images, node.seed(purpose.WEAK_VIEW))
    labels = pseudo_labels.from_logits(
      batch_losses.label_logits(classifier, weights, weak)
    )
    kept, given = label_selection.select(
      pseudo_labels.is_confident(labels, confidence_threshold),
      labels,
      rows.AllRows(strong_augmentation(images, node.seed(purpose.STRONG_VIEW))),
      indices,
    )
    strong, kept_labels, _ = kept.examples
    num_confident = tf.cast(kept.number, tf.float32)

    def compute_gradient():
      with tf.GradientTape() as tape:
        tape.watch(weights.trainable)
        logits = batch_losses.train_logits(
          classifier, weights, strong, node.seed(purpose.DROPOUT_MASK)
        )
        output = batch_losses.cross_entropy(logits, kept_labels)
        total = num_confident * output.loss
        loss = total / tf.cast(num_images, tf.float32)
      gradient = tape.gradient(loss, weights.trainable)
      return tuple(gradient), total, output.num_correct

    gradient, loss_sum, num_correct = tf.cond(
      num_confident > 0,
      compute_gradient,
      lambda: (
        tuple(tf.zeros_like(array) for array in weights.trainable),
        0.0,
        0.0,
      ),
    )
    training = training_loop.TrainingResult(
      tuple(w - g for w, g in zip(weights.trainable, gradient, strict=True)),
      optimizer_state,
      training_loop.TrainingSums(
        loss=loss_sum,
        num_correct=num_correct,
        num_examples=num_confident,
        num_visited=tf.cast(num_images, tf.float32),
      ),
      given_labels_lib.extend(given_labels, given),
    )
    return client_report.labeled_in_steps(training, num_images)

  return train


def build_gradient_server_work(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  batch_size: int,
) -> server_work.ServerWorkProcess:
  """Builds server work that steps by its gradient plus that of the clients.

  Returns:
    A `ServerWorkProcess` whose state is a pair: the optimizer's state, and the
    gradient of the clients, which is replaced before `next`.
  """
  weights_type = classifier.weights_type
  data_type = pipelines.labeled_type(classifier.image_shape)

  @tff.tensorflow.computation
  def initialize():
    trainable = classifier.initial_weights.trainable
    return (
      training_loop.initial_optimizer_state(optimizer, trainable),
      tuple(tf.zeros_like(array) for array in trainable),
    )

  state_type = initialize.type_signature.result

  @tff.tensorflow.computation(
    state_type, weights_type, round_context.ROUND_CONTEXT_TYPE, data_type
  )
  def step(
    state: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    dataset: tf.data.Dataset,
  ):
    optimizer_state, clients_gradient = state
    data = pipelines.concatenate_chunks(dataset)
    node = round_context.Node(context)
    indices = draws.select_batch(
      tf.shape(data['label'])[0],
      batch_size,
      context.round_num,  # The server takes part in each round.
      random_seeds.stateless_seed(
        context.seed, random_seeds.Purpose.SERVER_ORDER
      ),
    )
    views = weak_augmentation(
      tf.gather(data['image'], indices),
      node.seed(random_seeds.Purpose.SERVER_AUGMENTATION),
    )
    gradient, output = batch_losses.cross_entropy_gradient(
      classifier,
      weights,
      views,
      tf.gather(data['label'], indices),
      node.seed(random_seeds.Purpose.DROPOUT_MASK),
    )
    optimizer_state, trainable = optimizer.next(
      optimizer.set_hparams(
        optimizer_state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      ),
      weights.trainable,
      [a + b for a, b in zip(gradient, clients_gradient, strict=True)],
    )
    metrics = collections.OrderedDict(
      loss=output.loss,
      accuracy=output.num_correct / tf.cast(tf.shape(indices)[0], tf.float32),
    )
    weights = weights._replace(trainable=tuple(trainable))
    return (optimizer_state, clients_gradient), weights, metrics

  return server_work.place_server_work(initialize, step)
