# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD: a round is one step along gradients of clients' batches."""

import abc
from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rounds
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

NOT_PRIVATE = (
  'the images that a client of federated SGD trains on depend on how often it'
  ' took part before, which is secret, and epsilon is not computed for that'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregation(aggregators.Aggregation):
  """The aggregation of gradients, without differential privacy."""

  aggregator: means.Aggregator = aggregators.choose_without(
    differential_privacy=NOT_PRIVATE
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientSteps(system.System):
  """Base of systems whose clients send the gradient of one batch."""

  measures_pseudo_labels = True
  clients_know_participation = True

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  averaging: Aggregation = Aggregation()
  confidence: training_settings.Confidence = training_settings.Confidence()

  def create_guides(self, ingredients: system.Ingredients) -> method.Guides:
    """The guides that send messages to clients, by name; by default none."""
    del ingredients
    return {}

  @abc.abstractmethod
  def label(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    node: federated_process.Node,
    data: Mapping[str, tf.Tensor],
    batch: tf.Tensor,
  ) -> tuple[pseudo_labels.PseudoLabels, Mapping[str, Any]]:
    """Labels the images of a batch.

    `data` has all examples of the client. `batch`, int32 [batch], has the
    positions of the batch's images in `data`. Returns the labels of the batch,
    and additional fields of the client's `LocalTraining`.
    """

  @abc.abstractmethod
  def train_server(
    self,
    ingredients: system.Ingredients,
    optimizer: optimizers.Optimizer,
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
    clients_gradient: Sequence[tf.Tensor],
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """The server's step; the rest is as in `ServerWork.train`."""

  def targets(self, labels: pseudo_labels.PseudoLabels) -> tf.Tensor:
    """The labels in the clients' loss; by default the most probable classes."""
    return labels.labels

  def build(self, ingredients: system.Ingredients) -> system.Process:
    aggregator = aggregators.create(
      self.averaging.aggregator.build(),
      ingredients.classifier.weights_type.trainable,
    )
    optimizer = self.optimizer.build()
    work = client_work.build_client_work(
      ingredients.classifier,
      functools.partial(self.train_client, ingredients),
      data_type=client_with_participation_type(
        ingredients.classifier.image_shape, ingredients.num_features
      ),
      optimizer=optimizer,
      max_update_norm_ratio=self.averaging.max_update_norm_ratio,
      measure_weight_diversity=aggregator.is_weighted,
      return_given_labels=ingredients.returns_given_labels,
    )
    return composition.build(
      round_parts.build_round_parts(
        ingredients,
        work,
        server_work.ServerWork(
          initialize=lambda: training_loop.initial_optimizer_state(
            optimizer, ingredients.classifier.initial_weights.trainable
          ),
          train=functools.partial(self.train_server, ingredients, optimizer),
        ),
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        aggregator=aggregator,
        guides=self.create_guides(ingredients),
      ),
      rounds.gradient_round,
    )

  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """The client update: the gradient of one augmented batch.

    A client uses its next batch in each of its rounds. The loss is the sum of
    the cross-entropies of images with a confident label, divided by the batch
    size.
    """
    classifier, purpose = ingredients.classifier, random_seeds.Purpose
    node = federated_process.Node(context, data['client_id'])
    batch = select_batch(
      tf.shape(data['image'])[0],
      self.client.client_batch_size,
      data['earlier_rounds'],
      random_seeds.stateless_seed(context.seed, purpose.FIX_ORDER, node.key),
    )
    labels, further = self.label(ingredients, weights, node, data, batch)
    is_kept = labels.confidences >= self.confidence.confidence_threshold
    augmented = ingredients.strong_augmentation(
      tf.gather(data['image'], batch), node.seed(purpose.STRONG_VIEW)
    )
    images = tf.boolean_mask(augmented, is_kept)
    size = tf.shape(batch)[0]
    num_images = tf.cast(size, tf.float32)
    num_selected = tf.cast(tf.shape(images)[0], tf.float32)

    def compute_gradient():
      with tf.GradientTape() as tape:
        tape.watch(weights.trainable)
        logits = classifier.train_logits(
          weights, images, node.seed(purpose.DROPOUT_MASK)
        )
        output = training_loop.cross_entropy(
          logits, tf.boolean_mask(self.targets(labels), is_kept)
        )
        total = num_selected * output.loss
        loss = total / num_images
      gradient = tape.gradient(loss, weights.trainable)
      return tuple(gradient), total, output.num_correct

    gradient, loss_sum, num_correct = tf.cond(
      num_selected > 0,
      compute_gradient,
      lambda: (tuple(map(tf.zeros_like, weights.trainable)), 0.0, 0.0),
    )
    local = client_work.labeled_in_steps(
      training_loop.TrainingResult(
        tuple(w - g for w, g in zip(weights.trainable, gradient, strict=True)),
        optimizer_state,
        training_loop.TrainingSums(
          loss=loss_sum,
          num_correct=num_correct,
          num_examples=num_selected,
          num_visited=num_images,
        ),
      ),
      size,
      pseudo_labels.give_at_once(batch, labels.labels, is_kept),
    )
    return local._replace(**further)

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(min(num_labeled, 1), min(len(client_sizes), 1))


def select_batch(
  num_images: tf.Tensor,
  batch_size: int,
  num_before: tf.Tensor,
  order_seed: tf.Tensor,
) -> tf.Tensor:
  """The positions of a batch's images, int32 [at most `batch_size`].

  `num_before` counts earlier batches. `order_seed` gives each epoch an order.
  """
  num_batches = tf.maximum(-(-num_images // batch_size), 1)
  start = num_before % num_batches * batch_size
  epoch_seed = random_draws.fold_in(order_seed, num_before // num_batches)
  indices = random_draws.order(num_images, epoch_seed)
  return indices[start : start + batch_size]


def extend_batch(
  batch: tf.Tensor, num_images: tf.Tensor, size: int, seed: tf.Tensor
) -> tf.Tensor:
  """Adds random further images to a batch, up to `size` or to all images.

  `batch` and the result, int32 [images], are positions among `num_images`.
  """
  drawn = random_draws.order(num_images, seed)
  is_in_batch = tf.scatter_nd(
    batch[:, tf.newaxis], tf.ones_like(batch), [num_images]
  )
  others = tf.boolean_mask(drawn, tf.equal(tf.gather(is_in_batch, drawn), 0))
  number = tf.maximum(size - tf.shape(batch)[0], 0)
  return tf.concat([batch, others[:number]], axis=0)


def cross_entropy_gradient(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
  labels: tf.Tensor,
  seed: tf.Tensor,
) -> tuple[tuple[tf.Tensor, ...], training_loop.BatchOutput]:
  """The gradient of the mean cross-entropy, and its `BatchOutput`."""
  with tf.GradientTape() as tape:
    tape.watch(weights.trainable)
    logits = classifier.train_logits(weights, images, seed)
    output = training_loop.cross_entropy(logits, labels)
  return tuple(tape.gradient(output.loss, weights.trainable)), output


def client_with_participation_type(
  image_shape: pipelines.ImageShape, num_features: int | None = None
) -> tff.SequenceType:
  """The TFF type of a client's data and number of earlier rounds.

  With `num_features`, chunks also have features of the images.
  """
  features = {}
  if num_features is not None:
    features['features'] = pipelines.batch_type((num_features,))
  return pipelines.chunks(
    client_id=np.int32,
    earlier_rounds=np.int32,
    **features,
    image=pipelines.batch_type(image_shape),
  )
