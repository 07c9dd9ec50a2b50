# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD with client priors by empirical Bayes.

In each round a client finds the class shares of its images and their labels
together, by `class_shares`, and sends the gradient of a batch with these
labels. Sums over clients tell the server how much clients differ, and by how
much the mean label is off: no setting says either.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities: a simple procedure. Neural Computation, 2002.
"""

import collections
from collections.abc import Mapping
import dataclasses
import types
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import gradients
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import hook_arguments
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.data import folding
from tff_semifl.methods import client_prior
from tff_semifl.methods.client_priors import class_shares
from tff_semifl.methods.client_priors import running_estimate
from tff_semifl.models import functional
from tff_semifl.randomness import draws
from tff_semifl.randomness import random_seeds
from tff_semifl.systems import gradient_steps
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.training import client_report
from tff_semifl.training import given_labels
from tff_semifl.training import pseudo_labels


def build_training(
  classifier: functional.ImageClassifier,
  *,
  strong_augmentation: augmentation.Augmentation,
  batch_size: int,
  labeled_images: int,
  confidence_threshold: float,
) -> client_work.LocalTrainingFn:
  """Builds the client update, which is the gradient on one batch.

  Data are of `pipelines.client_with_participation_type`, and batches those of
  `gradients.select_batch`. Class shares are estimated from the batch and other
  images of the client, up to `labeled_images`. Images of the batch whose most
  probable class has less than the confidence threshold are left out of the
  loss.
  """

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_report.LocalTraining:
    purpose = random_seeds.Purpose
    node = round_context.Node(context, data['client_id'])
    num_images = tf.shape(data['image'])[0]
    batch = gradients.select_batch(node, data, batch_size)
    # The images of the batch come first, then other images in a random order.
    order = draws.shuffle(
      tf.range(num_images), node.seed(purpose.PSEUDO_LABEL_VIEW)
    )
    is_in_batch = tf.scatter_nd(
      batch[:, tf.newaxis], tf.ones_like(batch), [num_images]
    )
    others = tf.boolean_mask(order, tf.equal(tf.gather(is_in_batch, order), 0))
    size = tf.shape(batch)[0]
    labeled = tf.concat(
      [batch, others[: tf.maximum(labeled_images - size, 0)]], axis=0
    )
    logits = classifier.logits(
      weights, tf.cast(tf.gather(data['image'], labeled), tf.float32)
    )
    message = context.guidance[guidance_lib.OWN]
    logits += message.shift
    likelihoods = class_shares.read(logits)
    shares = class_shares.find(likelihoods, message.alpha)
    labels = pseudo_labels.complete(
      shares.posteriors[:size], classifier.num_classes
    )
    augmented = strong_augmentation(
      tf.gather(data['image'], batch), node.seed(purpose.STRONG_VIEW)
    )
    is_kept = pseudo_labels.is_confident(labels, confidence_threshold)
    update = gradients.report(
      classifier,
      weights,
      tf.boolean_mask(augmented, is_kept),
      tf.boolean_mask(labels.labels, is_kept),
      num_images=size,
      node=node,
      optimizer_state=optimizer_state,
      given_labels=given_labels.made_at_once(batch, labels.labels, is_kept),
    )
    num_labeled = tf.cast(tf.shape(labeled)[0], tf.float32)
    has_any = tf.cast(num_labeled > 0, tf.float32)
    return update._replace(
      measurements=collections.OrderedDict(
        evidence=client_report.Ratio(
          class_shares.evidence(likelihoods, message.alpha, shares), num_labeled
        ),
        strength=client_report.Ratio(
          has_any * tf.reduce_sum(message.alpha), has_any
        ),
      ),
      report={
        guidance_lib.OWN: running_estimate.Sums(
          tf.reduce_sum(shares.posteriors, axis=0),
          has_any * shares.log_shares,
          num_labeled,
          has_any,
        )
      },
    )

  return train


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorSGD(gradient_steps.GradientSteps):
  """Federated SGD with class shares of each client, by empirical Bayes."""

  # Batches of two classes have other statistics than those of all.
  usual = types.MappingProxyType({'normalization': 'group'})

  server: training_settings.PretrainedBatches = (
    training_settings.PretrainedBatches(server_pretraining_epochs=200.0)
  )
  client_labeled_images: int = settings.setting(
    64,
    'Images that a client labels in a round to find its shares of classes: its'
    ' batch, and others at random up to so many.',
    settings.AT_LEAST_1,
  )
  confidence: training_settings.Confidence = training_settings.Confidence()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    classifier, optimizer = ingredients.classifier, self.optimizer.build()
    batch_size = self.server.filled_batch_size
    return self.compose(
      ingredients,
      build_training(
        classifier,
        strong_augmentation=ingredients.strong_augmentation,
        batch_size=self.client.client_batch_size,
        labeled_images=self.client_labeled_images,
        confidence_threshold=self.confidence.confidence_threshold,
      ),
      gradients.build_server_work(
        classifier,
        augmentation_fn=ingredients.strong_augmentation,
        optimizer=optimizer,
        batch_size=batch_size,
        pretraining_fn=server_work.SupervisedTraining(
          classifier=classifier,
          weak_augmentation=ingredients.strong_augmentation,
          optimizer=optimizer,
          num_epochs=settings.filled(
            'server_pretraining_epochs', self.server.server_pretraining_epochs
          ),
          batch_size=batch_size,
        ),
      ),
      guides={guidance_lib.OWN: _Estimate()},
    )


class _Estimate(guidance_lib.Guiding):
  """The server's estimate of how clients' class shares are distributed."""

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> running_estimate.Estimate:
    return running_estimate.start(model.num_classes)

  def tell(
    self, kept: running_estimate.Estimate, server: hook_arguments.Server
  ) -> running_estimate.Message:
    num_classes = server.model.num_classes

    def add_counts(counts: tf.Tensor, chunk: Mapping[str, tf.Tensor]):
      labels = tf.one_hot(chunk['label'], num_classes)
      return counts + tf.reduce_sum(labels, axis=0)

    counts = folding.fold(server.data, tf.zeros([num_classes]), add_counts)
    return running_estimate.tell(kept, client_prior.from_counts(counts))

  def guidance(
    self,
    kept: running_estimate.Estimate,
    sums: running_estimate.Sums,
    server: hook_arguments.Server,
  ) -> running_estimate.Estimate:
    del server
    return running_estimate.learn(
      running_estimate.Estimate(*kept), running_estimate.Sums(*sums)
    )
