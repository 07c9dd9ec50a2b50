# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The client of federated SGD of FixMatch: its update is a gradient."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import gradients
from tff_semifl.core import round_context
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import client_report
from tff_semifl.training import given_labels
from tff_semifl.training import pseudo_labels


def build_gradient_training(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  batch_size: int,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds the client update, which is the gradient of FixMatch on one batch.

  Data are of `pipelines.client_with_participation_type`, and batches those of
  `gradients.select_batch`. The loss is the sum of cross-entropies of strongly
  augmented images whose pseudo-label is confident, divided by the batch size.

  Args:
    classifier: The model.
    weak_augmentation: For pseudo-labels.
    strong_augmentation: For the loss.
    batch_size: Images in a batch; the last of an epoch may have fewer.
    confidence_threshold: In (0, 1]; inclusive.

  Returns:
    A `LocalTrainingFn`, to be given to `client_work.build_client_work`.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    purpose = random_seeds.Purpose
    node = round_context.Node(context, data['client_id'])
    indices = gradients.select_batch(node, data, batch_size)
    images = tf.gather(data['image'], indices)
    weak = weak_augmentation(images, node.seed(purpose.WEAK_VIEW))
    labels = pseudo_labels.from_logits(
      batch_losses.label_logits(classifier, weights, weak)
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
      given_labels=given_labels.made_at_once(indices, labels.labels, is_kept),
    )

  return train
