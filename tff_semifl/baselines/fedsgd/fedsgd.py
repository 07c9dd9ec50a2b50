# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch: clients send gradients of one batch.

    each round, with the server's and each client's next batch:
      server: gradient of CE(weak(labeled batch))
      client: labels = confident predictions for weak(batch)
              gradient of CE(strong(batch), labels) / batch size
      weights = step(server's gradient + mean of clients' gradients)

For comparison with systems of several local steps: it communicates after each
step. `--preset=fedsgd_fixmatch/cifar10_4000_iid` is of Figure 2 of SemiFL.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import gradients
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.systems import gradient_steps
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.training import client_report
from tff_semifl.training import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGD(gradient_steps.GradientSteps):
  """Federated SGD: a round is one step, on the mean of clients' gradients."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    classifier = ingredients.classifier
    return self.compose(
      ingredients,
      build_gradient_training(
        classifier,
        weak_augmentation=ingredients.weak_augmentation,
        strong_augmentation=ingredients.strong_augmentation,
        batch_size=self.client.client_batch_size,
        confidence_threshold=self.confidence.confidence_threshold,
      ),
      gradients.build_server_work(
        classifier,
        augmentation_fn=ingredients.weak_augmentation,
        optimizer=self.optimizer.build(),
        batch_size=self.server.filled_batch_size,
      ),
    )


def build_gradient_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  batch_size: int,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds the client update, which is the gradient of FixMatch on one batch.

  Data are of `pipelines.client_with_participation_type`. The loss is the sum of
  cross-entropies of strongly augmented images whose pseudo-label is confident,
  divided by the batch size, at most `batch_size`. The confidence threshold is
  in (0, 1], inclusive.
  """

  def train(
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    purpose = random_seeds.Purpose
    node = federated_process.Node(context, data['client_id'])
    indices = gradients.select_batch(node, data, batch_size)
    images = tf.gather(data['image'], indices)
    weak = weak_augmentation(images, node.seed(purpose.WEAK_VIEW))
    labels = pseudo_labels.from_logits(
      classifier.batch_logits(weights, tf.cast(weak, tf.float32))
    )
    is_kept = pseudo_labels.is_confident(labels, confidence_threshold)
    strong = strong_augmentation(images, node.seed(purpose.STRONG_VIEW))
    return gradients.report(
      classifier,
      weights,
      tf.boolean_mask(strong, is_kept),
      tf.boolean_mask(labels.labels, is_kept),
      num_images=tf.shape(indices)[0],
      node=node,
      optimizer_state=optimizer_state,
      given_labels=pseudo_labels.give_at_once(indices, labels.labels, is_kept),
    )

  return train
