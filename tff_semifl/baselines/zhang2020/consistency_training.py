# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training by consistency or self-training, of Zhang et al.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  3 and 4.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.core import client_work
from tff_semifl.core import round_context
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import client_report
from tff_semifl.training import given_labels
from tff_semifl.training import losses
from tff_semifl.training import pseudo_labels
from tff_semifl.training import training_loop


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
  views_fn: Callable[[tf.Tensor, round_context.Node], Any]
  logits_fn: Callable[[local_steps.StepModel, Any], tuple[tf.Tensor, tf.Tensor]]
  confidence_threshold: float

  def __call__(
    self,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    num_images = tf.shape(data['image'])[0]
    node = round_context.Node(context, data['client_id'])

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
          given_labels.made_at_once(indices, labels.labels, is_confident)
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
      state=given_labels.none(),
    )
    return client_report.labeled_in_steps(training, num_images, training.state)
