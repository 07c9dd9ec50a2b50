# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD with client priors by empirical Bayes.

In each round a client estimates the class shares and the labels of its images
together (`class_shares`), and sends the gradient of a batch with these labels.
From sums over clients the server estimates how much clients differ, and the
bias of the mean label; neither is a setting.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities: a simple procedure. Neural Computation, 2002.
"""

import collections
from collections.abc import Mapping
import dataclasses
import types
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.algorithms.client_priors import class_shares
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.core import server_work
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

# bias <- (1 - _LEAK) bias + _STEP log(wanted / found share of each class).
_LEAK, _STEP = 0.1, 0.5
# Least class share, because logarithms and quotients need a share above 0.
_LEAST_SHARE = 1e-6


class Estimate(NamedTuple):
  """The server's estimate of the clients' classes, float32.

  The bias `pull * log m - push` is added to the logits for labeling, with the
  class shares m of the server's labels.

  Attributes:
    posteriors: [classes], the average label of clients' images in the last
      round that had any.
    log_shares: [classes], the average of clients' `ClassShares.log_shares` in
      that round.
    pull: Scalar; 0 before any client reported.
    push: [classes].
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  pull: tf.Tensor
  push: tf.Tensor


class Message(NamedTuple):
  """The message to clients, float32 [classes].

  `alpha` are the Dirichlet parameters of clients' class shares; `shift` is
  added to logits, which makes them log p(example | class).
  """

  alpha: tf.Tensor
  shift: tf.Tensor


class Sums(NamedTuple):
  """The sums that a client reports, float32: labels and log shares, [classes].

  `num_images` counts the labeled images; `num_clients` is 1 if there are any.
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  num_images: tf.Tensor
  num_clients: tf.Tensor


def start(num_classes: int) -> Estimate:
  """The estimate before any client reported."""
  zeros = tf.zeros([num_classes])
  return Estimate(zeros, zeros, tf.constant(0.0), zeros)


def tell(estimate: Estimate, shares: tf.Tensor) -> Message:
  """The message to clients; `shares` are m of `Estimate`, each above 0."""
  # Relative to the classes of all clients together, so that a model that gives
  # one class to all clients is not mistaken for clients that differ.
  found = tf.maximum(estimate.posteriors, _LEAST_SHARE)
  strength = tf.where(
    estimate.pull > 0,
    class_shares.strength(estimate.log_shares, found / tf.reduce_sum(found)),
    tf.cast(tf.size(shares), tf.float32),
  )
  return Message(
    strength * shares,
    (estimate.pull - 1) * tf.math.log(shares) - estimate.push,
  )


def learn(estimate: Estimate, sums: Sums) -> Estimate:
  """The estimate after a round, given the sums of its clients' reports."""

  def update() -> Estimate:
    posteriors = sums.posteriors / sums.num_images
    return Estimate(
      posteriors,
      sums.log_shares / sums.num_clients,
      (1 - _LEAK) * estimate.pull + _STEP,
      (1 - _LEAK) * estimate.push
      + _STEP * tf.math.log(tf.maximum(posteriors, _LEAST_SHARE)),
    )

  return tf.cond(sums.num_clients > 0, update, lambda: estimate)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorSGD(gradient_steps.GradientSteps):
  """Federated SGD with class shares of each client, by empirical Bayes."""

  # Batch statistics of two classes differ from statistics of all classes.
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

  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """The gradient of one batch, labeled with the client's class shares.

    Class shares are estimated from the batch and other images of the client, up
    to `client_labeled_images`. Images of the batch whose most probable class
    has less than the confidence threshold are left out of the loss.
    """
    classifier, purpose = ingredients.classifier, random_seeds.Purpose
    node = federated_process.Node(context, data['client_id'])
    num_images = tf.shape(data['image'])[0]
    batch = self.select_batch(node, data)
    # The images of the batch come first, then other images in a random order.
    order = random_draws.order(num_images, node.seed(purpose.PSEUDO_LABEL_VIEW))
    is_in_batch = tf.scatter_nd(
      batch[:, tf.newaxis], tf.ones_like(batch), [num_images]
    )
    others = tf.boolean_mask(order, tf.equal(tf.gather(is_in_batch, order), 0))
    size = tf.shape(batch)[0]
    labeled = tf.concat(
      [batch, others[: tf.maximum(self.client_labeled_images - size, 0)]],
      axis=0,
    )
    logits = classifier.logits(
      weights, tf.cast(tf.gather(data['image'], labeled), tf.float32)
    )
    message = context.guidance[method.OWN]
    logits += message.shift
    likelihoods = class_shares.read(logits)
    shares = class_shares.find(likelihoods, message.alpha)
    labels = pseudo_labels.complete(
      shares.posteriors[:size], classifier.num_classes
    )
    augmented = ingredients.strong_augmentation(
      tf.gather(data['image'], batch), node.seed(purpose.STRONG_VIEW)
    )
    is_kept = pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )
    update = gradient_steps.report(
      classifier,
      weights,
      tf.boolean_mask(augmented, is_kept),
      tf.boolean_mask(labels.labels, is_kept),
      num_images=size,
      node=node,
      optimizer_state=optimizer_state,
      given_labels=pseudo_labels.give_at_once(batch, labels.labels, is_kept),
    )
    num_labeled = tf.cast(tf.shape(labeled)[0], tf.float32)
    has_any = tf.cast(num_labeled > 0, tf.float32)
    return update._replace(
      measurements=collections.OrderedDict(
        evidence=client_work.Ratio(
          class_shares.evidence(likelihoods, message.alpha, shares), num_labeled
        ),
        strength=client_work.Ratio(
          has_any * tf.reduce_sum(message.alpha), has_any
        ),
      ),
      report={
        method.OWN: Sums(
          tf.reduce_sum(shares.posteriors, axis=0),
          has_any * shares.log_shares,
          num_labeled,
          has_any,
        )
      },
    )

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> gradient_steps.GradientServerWork:
    classifier, optimizer = ingredients.classifier, self.optimizer.build()
    batch_size = self.server.filled_batch_size
    return gradient_steps.GradientServerWork(
      classifier=classifier,
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
    )

  @property
  def guides(self) -> method.Guides:
    return {method.OWN: _Estimate()}


class _Estimate(method.Guiding):
  """The server's estimate of how clients' class shares are distributed."""

  def init_guidance(self, model: functional.ImageClassifier) -> Estimate:
    return start(model.num_classes)

  def tell(self, kept: Estimate, server: hook_arguments.Server) -> Message:
    shares = client_prior.from_counts(client_prior.count_labels(server))
    return tell(kept, shares)

  def guidance(
    self,
    kept: Estimate,
    sums: Sums,
    server: hook_arguments.Server,
  ) -> Estimate:
    del server
    return learn(Estimate(*kept), Sums(*sums))
