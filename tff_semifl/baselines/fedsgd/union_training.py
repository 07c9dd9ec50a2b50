# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Steps on the images of several clients as one batch, as SemiFL's authors ran.

In an epoch every image of every client is in one step. Clients without images
left are not drawn again, so that the number of steps is random and the last
steps may have fewer clients.
"""

import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.core import federated_process
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import pseudo_labels
from tff_semifl.training import training_loop


class EpochCohorts(NamedTuple):
  """The cohorts of all steps of an epoch, int32 [steps, clients of a step].

  Attributes:
    clients: Positions of clients; -1 for none.
    earlier_steps: The number of earlier steps of the epoch that the client was
      in.
  """

  clients: tf.Tensor
  earlier_steps: tf.Tensor


class EpochResult(NamedTuple):
  """The outcome of an epoch.

  Attributes:
    training: Its sums are over the clients' images, its state are their
      pseudo-labels (`GivenLabels`), with indices into the images of all
      clients.
    server: Sums over the server's images.
    num_confident: Number of confident pseudo-labels.
  """

  training: training_loop.TrainingResult
  server: training_loop.TrainingSums
  num_confident: tf.Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnionSteps:
  """The settings of steps on the images of several clients.

  Batch sizes are images of each client, of which the last batch may have
  fewer, and of the server. The confidence threshold is in (0, 1], inclusive.
  """

  classifier: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  clients_per_step: int
  client_batch_size: int
  server_batch_size: int
  confidence_threshold: float

  def train_on_server(
    self,
    model: functional.ModelWeights,
    images: tf.Tensor,
    labels: tf.Tensor,
    node: federated_process.Node,
    step: tf.Tensor,
  ) -> tuple[tuple[tf.Tensor, ...], training_loop.TrainingSums]:
    """The gradient of a batch of weakly augmented labeled images."""
    purpose = random_seeds.Purpose
    indices = random_draws.select_from_stream(
      tf.shape(labels)[0],
      self.server_batch_size,
      step,
      node.seed(purpose.SERVER_ORDER),
    )
    gradient, output = batch_losses.cross_entropy_gradient(
      self.classifier,
      model,
      self.weak_augmentation(
        tf.gather(images, indices),
        node.seed(purpose.SERVER_AUGMENTATION, step),
      ),
      tf.gather(labels, indices),
      node.seed(purpose.DROPOUT_MASK, step, 0),
    )
    return gradient, _sums(output, self.server_batch_size)

  def train_on_union(
    self,
    model: functional.ModelWeights,
    images: tf.Tensor,
    labels: tf.Tensor,
    is_any_confident: tf.Tensor,
    node: federated_process.Node,
    step: tf.Tensor,
  ) -> tuple[tuple[tf.Tensor, ...], training_loop.TrainingSums]:
    """The gradient of strongly augmented images; 0 if none is confident."""
    purpose = random_seeds.Purpose

    def train_on_all():
      gradient, output = batch_losses.cross_entropy_gradient(
        self.classifier,
        model,
        self.strong_augmentation(images, node.seed(purpose.STRONG_VIEW, step)),
        labels,
        node.seed(purpose.DROPOUT_MASK, step, 1),
      )
      return gradient, _sums(output, tf.shape(images)[0])

    return tf.cond(
      is_any_confident,
      train_on_all,
      lambda: (tuple(map(tf.zeros_like, model.trainable)), _no_sums()),
    )


def train_epoch(
  steps: UnionSteps,
  weights: functional.ModelWeights,
  optimizer_state: Any,
  context: federated_process.RoundContext,
  labeled: tuple[tf.Tensor, tf.Tensor],
  unlabeled: gathered_images.ClientImages,
) -> EpochResult:
  """Takes steps until each image of each client was in one of them.

  A step has a batch of the server and one of each client of the step's cohort.
  The loss is the cross-entropy of the server's images, weakly augmented, plus
  that of the clients' images, strongly augmented, if any of these is confident;
  then all of them are trained on, with predictions for weak augmentation as
  labels. The three passes are normalized separately. The server's batches are
  whole, from one shuffled order after another; a client's are consecutive.

  Args:
    optimizer_state: Has the learning rate of all steps.
    labeled: The server's images and labels, at least one.
  """
  purpose = random_seeds.Purpose
  node = federated_process.Node(context)
  cohorts = draw_cohorts(
    -(-unlabeled.num_images // steps.client_batch_size),
    steps.clients_per_step,
    node.seed(purpose.COHORT),
  )

  def take_step(step: tf.Tensor, result: EpochResult):
    training = result.training
    model = weights._replace(trainable=training.trainable)
    server_gradient, server_sums = steps.train_on_server(
      model, *labeled, node, step
    )
    indices = find_images(
      cohorts, step, unlabeled.num_images, steps.client_batch_size
    )
    images = tf.gather(unlabeled.image, indices)
    labels = pseudo_labels.from_logits(
      batch_losses.label_logits(
        steps.classifier,
        model,
        steps.weak_augmentation(images, node.seed(purpose.WEAK_VIEW, step)),
      )
    )
    confident = pseudo_labels.is_confident(labels, steps.confidence_threshold)
    client_gradient, client_sums = steps.train_on_union(
      model, images, labels.labels, tf.reduce_any(confident), node, step
    )
    optimizer_state, trainable = steps.optimizer.next(
      training.optimizer_state,
      training.trainable,
      tuple(map(tf.add, server_gradient, client_gradient)),
    )
    client_sums = client_sums._replace(
      num_visited=tf.cast(tf.shape(indices)[0], tf.float32)
    )
    return step + 1, EpochResult(
      training._replace(
        trainable=tuple(trainable),
        optimizer_state=optimizer_state,
        sums=tf.nest.map_structure(tf.add, training.sums, client_sums),
        state=training.state.extend(
          pseudo_labels.give_at_once(indices, labels.labels, confident)
        ),
      ),
      tf.nest.map_structure(tf.add, result.server, server_sums),
      result.num_confident + tf.reduce_sum(tf.cast(confident, tf.float32)),
    )

  _, result = tf.while_loop(
    lambda step, _: step < tf.shape(cohorts.clients)[0],
    take_step,
    (
      0,
      EpochResult(
        training_loop.TrainingResult(
          tuple(weights.trainable),
          optimizer_state,
          _no_sums(),
          pseudo_labels.no_given_labels(),
        ),
        server=_no_sums(),
        num_confident=tf.constant(0.0),
      ),
    ),
  )
  return result


def draw_cohorts(
  num_batches: tf.Tensor, clients_per_step: int, seed: tf.Tensor
) -> EpochCohorts:
  """Draws cohorts, each uniformly among the clients that have a batch left.

  `num_batches`, int32 [clients], is that of each client; the seed is stateless,
  int32 [2].
  """
  num_clients = tf.shape(num_batches)[0]
  size = tf.minimum(clients_per_step, num_clients)

  def draw_step(step, steps_taken, clients, earlier_steps):
    values = tf.random.stateless_uniform(
      [num_clients], random_draws.fold_in(seed, step)
    )
    # Values are at least 0, so that clients without a batch come last.
    values = tf.where(steps_taken < num_batches, values, -1.0)
    values, drawn = tf.math.top_k(values, size)
    has_batch = values >= 0
    clients = clients.write(step, tf.where(has_batch, drawn, -1))
    earlier_steps = earlier_steps.write(step, tf.gather(steps_taken, drawn))
    steps_taken = tf.tensor_scatter_nd_add(
      steps_taken, drawn[:, tf.newaxis], tf.cast(has_batch, tf.int32)
    )
    return step + 1, steps_taken, clients, earlier_steps

  def create_array() -> tf.TensorArray:
    return tf.TensorArray(
      tf.int32, size=0, dynamic_size=True, element_shape=[None]
    )

  num_steps, _, clients, earlier_steps = tf.while_loop(
    lambda step, steps_taken, *_: tf.reduce_any(steps_taken < num_batches),
    draw_step,
    (0, tf.zeros_like(num_batches), create_array(), create_array()),
  )
  # An empty `TensorArray` cannot be stacked, as its width is unknown.
  return tf.cond(
    num_steps > 0,
    lambda: EpochCohorts(clients.stack(), earlier_steps.stack()),
    lambda: EpochCohorts(
      tf.zeros([0, size], tf.int32), tf.zeros([0, size], tf.int32)
    ),
  )


def find_images(
  cohorts: EpochCohorts,
  step: tf.Tensor,
  num_images: tf.Tensor,
  batch_size: int,
) -> tf.Tensor:
  """Indices of the images of a step's cohort, client by client, int32.

  They are into the images of all clients, of which `num_images`, int32
  [clients], belong to each.
  """
  is_there = cohorts.clients[step] >= 0
  clients = tf.boolean_mask(cohorts.clients[step], is_there)
  starts = tf.boolean_mask(cohorts.earlier_steps[step], is_there) * batch_size
  within = starts[:, tf.newaxis] + tf.range(batch_size)
  first_images = tf.cumsum(num_images, exclusive=True)
  indices = tf.gather(first_images, clients)[:, tf.newaxis] + within
  return tf.boolean_mask(
    indices, within < tf.gather(num_images, clients)[:, tf.newaxis]
  )


def _no_sums() -> training_loop.TrainingSums:
  return training_loop.TrainingSums(*[tf.constant(0.0)] * 4)


def _sums(
  output: training_loop.BatchOutput, num_images: tf.Tensor | int
) -> training_loop.TrainingSums:
  num_examples = tf.cast(num_images, tf.float32)
  return training_loop.TrainingSums(
    loss=num_examples * output.loss,
    num_correct=output.num_correct,
    num_examples=num_examples,
    num_visited=num_examples,
  )
