# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training by consistency or self-training, of Zhang et al.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  3 and 4.
"""

import collections
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.batch_norm import running_statistics
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import client_report
from tff_semifl.training import losses
from tff_semifl.training import optimizers
from tff_semifl.training import pseudo_labels
from tff_semifl.training import training_loop

# (weights, {'image', 'label'}, optimizer state, the replica) -> training.
ReplicaTrainingFn = Callable[
  [
    functional.ModelWeights,
    Mapping[str, tf.Tensor],
    Any,
    federated_process.Node,
  ],
  training_loop.TrainingResult,
]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ReplicatedServerWork:
  """A `ServerWork` that trains replicas one after the other.

  The states of the replicas' optimizers and the trainable weights of the
  replicas are stacked along the first dimension. Non-trainable weights are the
  running statistics of the first replica, if the optimizer keeps any; they are
  for evaluation. Measurements are over all steps of all replicas, NaN without
  any. The optimizer's learning rate is set to the round's.
  """

  classifier: functional.ImageClassifier
  training_fn: ReplicaTrainingFn
  optimizer: tff.learning.optimizers.Optimizer
  num_replicas: int

  def initialize(self) -> Any:
    """The states of the replicas' optimizers."""
    state = training_loop.initial_optimizer_state(
      self.optimizer, self.classifier.initial_weights.trainable
    )
    return tf.nest.map_structure(
      lambda value: tf.stack([value] * self.num_replicas), state
    )

  def train(
    self,
    states: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """Trains the replicas one after the other."""
    data = pipelines.concatenate_chunks(dataset)

    # Nothing to convert: no Python control flow depends on a tensor.
    @tf.autograph.experimental.do_not_convert
    def train_replica(replica_and_state: tuple[tf.Tensor, Any]):
      replica, state = replica_and_state
      return self.training_fn(
        weights,
        data,
        self.optimizer.set_hparams(
          state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
        ),
        federated_process.Node(context, -1 - replica),
      )

    result_spec = tf.nest.map_structure(
      lambda value: tf.TensorSpec(value.shape[1:], value.dtype), states
    )
    scalar = tf.TensorSpec([], tf.float32)
    # One after the other, so that one replica at a time is on the device.
    trained = tf.map_fn(
      train_replica,
      (tf.range(self.num_replicas), states),
      fn_output_signature=training_loop.TrainingResult(
        tuple(
          tf.TensorSpec(array.shape, array.dtype)
          for array in self.classifier.initial_weights.trainable
        ),
        result_spec,
        training_loop.TrainingSums(scalar, scalar, scalar, scalar),
      ),
      parallel_iterations=1,
    )
    sums = tf.nest.map_structure(tf.reduce_sum, trained.sums)
    metrics = collections.OrderedDict(
      loss=sums.loss / sums.num_examples,
      accuracy=sums.num_correct / sums.num_examples,
    )
    statistics = running_statistics.get_statistics(
      self.optimizer, trained.optimizer_state
    )
    replicas = functional.ModelWeights(
      trained.trainable,
      tuple(stacked[0] for stacked in statistics) or weights.non_trainable,
    )
    return trained.optimizer_state, replicas, metrics


def build_consistency_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  steps: local_steps.LocalSteps,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds a client's training by consistency regularization (equation 4).

  Weakly and strongly augmented images form one batch, over which batch
  normalization is computed. The former give labels, without gradient; the
  latter are trained on if confident. The confidence threshold is in (0, 1],
  inclusive.
  """

  def label(model, batch):
    logits = model.train_logits(tf.concat(batch, axis=0))
    weak_logits, strong_logits = tf.split(logits, 2)
    return weak_logits, strong_logits

  def views(images, node):
    purpose = random_seeds.Purpose
    return (
      weak_augmentation(images, node.seed(purpose.WEAK_VIEW)),
      strong_augmentation(images, node.seed(purpose.STRONG_VIEW)),
    )

  return _Training(classifier, steps, views, label, confidence_threshold)


def build_self_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  steps: local_steps.LocalSteps,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds a client's self-training (equation 3).

  Labels are predictions in inference mode, for the same augmented images.
  The confidence threshold is in (0, 1], inclusive.
  """

  def label(model, batch):
    return model.logits(batch), model.train_logits(batch)

  def views(images, node):
    return weak_augmentation(images, node.seed(random_seeds.Purpose.WEAK_VIEW))

  return _Training(classifier, steps, views, label, confidence_threshold)


@dataclasses.dataclass(frozen=True, eq=False)
class _Training:
  """Training on pseudo-labels that are made in each step.

  Clients without confident images count, too: momentum and weight decay change
  their weights. `views_fn` is (images, node) -> views, a structure of tensors;
  `logits_fn` is (model, batch of views) -> logits that give labels, and logits
  that are trained.
  """

  classifier: functional.ImageClassifier
  steps: local_steps.LocalSteps
  views_fn: Callable[[tf.Tensor, federated_process.Node], Any]
  logits_fn: Callable[[local_steps.StepModel, Any], tuple[tf.Tensor, tf.Tensor]]
  confidence_threshold: float

  def __call__(
    self,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    num_images = tf.shape(data['image'])[0]
    node = federated_process.Node(context, data['client_id'])

    def loss(model, batch, given):
      indices, batch_views = batch
      label_logits, logits = self.logits_fn(model, batch_views)
      labels = pseudo_labels.from_logits(tf.stop_gradient(label_logits))
      is_confident = pseudo_labels.is_confident(
        labels, self.confidence_threshold
      )
      return training_loop.BatchOutput(
        losses.masked_cross_entropy(logits, labels.labels, is_confident),
        training_loop.count_correct(logits, labels.labels, is_confident),
        tf.math.count_nonzero(is_confident, dtype=tf.float32),
        given.extend(
          pseudo_labels.give_at_once(indices, labels.labels, is_confident)
        ),
      )

    training = self.steps.train(
      self.classifier,
      weights,
      optimizer_state,
      node=node,
      num_images=num_images,
      views_fn=lambda indices: (
        indices,
        self.views_fn(tf.gather(data['image'], indices), node),
      ),
      loss_fn=loss,
      state=pseudo_labels.no_given_labels(),
    )
    return client_report.labeled_in_steps(training, num_images, training.state)
