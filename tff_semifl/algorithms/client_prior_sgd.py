# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD with class priors of clients, by empirical Bayes.

In each round a client estimates its class shares and the labels of its images
together (`class_shares`), and sends the gradient of a batch with these labels.
From sums over clients, the server estimates how much class shares differ, and
corrects classes that are labeled too often or too rarely.
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
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.core import server_work
from tff_semifl.label_shift import class_shares
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

# After each round, bias <- (1 - _LEAK) bias + _STEP log(wanted / found share of
# each class).
_LEAK, _STEP = 0.1, 0.5
# The least class share, because logarithms and quotients need positive numbers.
_LEAST_SHARE = 1e-6


class Estimate(NamedTuple):
  """The server's estimates of clients' class distributions, float32.

  Averages are over the latest round in which any client had images. To get log
  p(example | class), clients add `(pull - 1) * log m - push` to logits, where m
  are the class shares of the server's labels.
  """

  posteriors: tf.Tensor  # [classes], the average label of clients' images.
  log_shares: tf.Tensor  # [classes], clients' average `log_shares`.
  pull: tf.Tensor  # Scalar; 0 until a client has reported.
  push: tf.Tensor  # [classes]


class Sums(NamedTuple):
  """The sums that a client reports, float32."""

  posteriors: tf.Tensor  # [classes], the sum of the labels.
  log_shares: tf.Tensor  # [classes]
  num_images: tf.Tensor  # The number of labeled images.
  num_clients: tf.Tensor  # 1 if the client labeled any image, else 0.


class ClassEstimate(method.Guiding):
  """The server's estimate of how clients' class shares are distributed."""

  def init_guidance(self, model: functional.ImageClassifier) -> Estimate:
    zeros = tf.zeros([model.num_classes])
    return Estimate(zeros, zeros, tf.constant(0.0), zeros)

  def tell(
    self, kept: Estimate, server: hook_arguments.Server
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """The Dirichlet parameters of class shares, and an offset for logits.

    Both are [classes]. Logits plus the offset are log p(example | class).
    """
    shares = share_prior.shares_of_counts(client_prior.count_labels(server))
    # Relative to the class shares over all clients: a model that predicts the
    # same class at all clients does not mean that clients differ.
    found = tf.maximum(kept.posteriors, _LEAST_SHARE)
    strength = tf.where(
      kept.pull > 0,
      client_prior.strength(kept.log_shares, found / tf.reduce_sum(found)),
      tf.cast(tf.size(shares), tf.float32),
    )
    shift = (kept.pull - 1) * tf.math.log(shares) - kept.push
    return strength * shares, shift

  def guidance(
    self, kept: Estimate, sums: Sums, server: hook_arguments.Server
  ) -> Estimate:
    del server
    kept, sums = Estimate(*kept), Sums(*sums)

    def update() -> Estimate:
      posteriors = sums.posteriors / sums.num_images
      return Estimate(
        posteriors,
        sums.log_shares / sums.num_clients,
        (1 - _LEAK) * kept.pull + _STEP,
        (1 - _LEAK) * kept.push
        + _STEP * tf.math.log(tf.maximum(posteriors, _LEAST_SHARE)),
      )

    return tf.cond(sums.num_clients > 0, update, lambda: kept)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorSGD(gradient_steps.GradientSteps):
  """Federated SGD with an empirical Bayes estimate of clients' class shares."""

  # Batch statistics of a client with few classes differ from global statistics.
  usual = types.MappingProxyType({'normalization': 'group'})

  server: training_settings.PretrainedBatches = (
    training_settings.PretrainedBatches(server_pretraining_epochs=200.0)
  )
  client_labeled_images: int = settings.setting(
    64,
    'Images that a client labels in a round to find its class shares: its batch'
    ' and other images at random.',
    settings.AT_LEAST_1,
  )

  def create_guides(self, ingredients: system.Ingredients) -> method.Guides:
    del ingredients
    return {method.OWN: ClassEstimate()}

  def label(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    node: federated_process.Node,
    data: Mapping[str, tf.Tensor],
    batch: tf.Tensor,
  ) -> tuple[pseudo_labels.PseudoLabels, Mapping[str, Any]]:
    """Labels a batch; class shares come from `client_labeled_images` images."""
    classifier = ingredients.classifier
    size = tf.shape(batch)[0]
    labeled = gradient_steps.extend_batch(
      batch,
      tf.shape(data['image'])[0],
      self.client_labeled_images,
      node.seed(random_seeds.Purpose.PSEUDO_LABEL_VIEW),
    )
    logits = classifier.logits(weights, tf.gather(data['image'], labeled))
    alpha, shift = node.context.guidance[method.OWN]
    likelihoods = class_shares.read(logits + shift)
    shares = class_shares.find(likelihoods, alpha)
    labels = pseudo_labels.complete(
      shares.posteriors[:size], classifier.num_classes
    )
    num_labeled = tf.cast(tf.shape(labeled)[0], tf.float32)
    has_any = tf.cast(num_labeled > 0, tf.float32)
    measurements = collections.OrderedDict(
      evidence=client_work.Ratio(
        class_shares.evidence(likelihoods, alpha, shares), num_labeled
      ),
      strength=client_work.Ratio(has_any * tf.reduce_sum(alpha), has_any),
    )
    sums = Sums(
      tf.reduce_sum(shares.posteriors, axis=0),
      has_any * shares.log_shares,
      num_labeled,
      has_any,
    )
    return labels, {'measurements': measurements, 'report': {method.OWN: sums}}

  def build_pretraining(
    self, ingredients: system.Ingredients
  ) -> server_work.SupervisedTrainingFn | None:
    num_epochs = self.server.server_pretraining_epochs
    if num_epochs is None:
      return None
    return server_work.SupervisedTraining(
      classifier=ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      optimizer=self.optimizer.build(),
      num_epochs=num_epochs,
      batch_size=self.server.filled_batch_size,
    )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    # The server's images are augmented like the clients'.
    strong = ingredients.strong_augmentation
    return super().build(
      dataclasses.replace(ingredients, weak_augmentation=strong)
    )
