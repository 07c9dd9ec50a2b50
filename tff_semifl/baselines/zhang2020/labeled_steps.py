# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Steps on labeled images: the server of Zhang et al., and clients with labels.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equation
  2; Table 3 and appendix G.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.core import client_work
from tff_semifl.core import round_context
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import client_report
from tff_semifl.training import training_loop


def train_on_labels(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
  node: round_context.Node,
  *,
  weak_augmentation: augmentation.Augmentation,
  steps: local_steps.LocalSteps,
) -> training_loop.TrainingResult:
  """Takes the steps of a round by cross-entropy (equation 2).

  `data` has `image`, uint8 [images, height, width, channels], and `label`,
  int32 [images].
  """

  def views(indices: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return (
      weak_augmentation(
        tf.gather(data['image'], indices),
        node.seed(random_seeds.Purpose.WEAK_VIEW),
      ),
      tf.gather(data['label'], indices),
    )

  def loss(model, batch, state):
    del state
    images, labels = batch
    return batch_losses.cross_entropy(model.train_logits(images), labels)

  return local_steps.train(
    classifier,
    weights,
    optimizer_state,
    steps=steps,
    node=node,
    num_images=tf.shape(data['label'])[0],
    views_fn=views,
    loss_fn=loss,
  )


def build_labeled_client_steps(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  steps: local_steps.LocalSteps,
) -> client_work.LocalTrainingFn:
  """Builds the local training of a client with labels (Table 3, Table G.1)."""

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    training = train_on_labels(
      classifier,
      weights,
      data,
      optimizer_state,
      round_context.Node(context, data['client_id']),
      weak_augmentation=weak_augmentation,
      steps=steps,
    )
    return client_report.trained_on_true_labels(
      training, tf.shape(data['label'])[0]
    )

  return train
