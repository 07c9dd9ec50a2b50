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

from tff_semifl.core import federated_process
from tff_semifl.core import gradients
from tff_semifl.core import server_work
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

  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    """The gradient of FixMatch on one batch.

    The loss is the sum of cross-entropies of strongly augmented images whose
    pseudo-label is confident, divided by the number of images of the batch.
    """
    classifier, purpose = ingredients.classifier, random_seeds.Purpose
    node = federated_process.Node(context, data['client_id'])
    indices = gradients.select_batch(node, data, self.client.client_batch_size)
    images = tf.gather(data['image'], indices)
    weak = ingredients.weak_augmentation(images, node.seed(purpose.WEAK_VIEW))
    labels = pseudo_labels.from_logits(
      classifier.batch_logits(weights, tf.cast(weak, tf.float32))
    )
    is_kept = pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )
    strong = ingredients.strong_augmentation(
      images, node.seed(purpose.STRONG_VIEW)
    )
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

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> server_work.ServerWork:
    return gradients.build_server_work(
      ingredients.classifier,
      augmentation_fn=ingredients.weak_augmentation,
      optimizer=self.optimizer.build(),
      batch_size=self.server.filled_batch_size,
    )
