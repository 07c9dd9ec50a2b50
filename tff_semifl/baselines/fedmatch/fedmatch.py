# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, and the FedMatch of SemiFL's tables.

A kernel is the sum of sigma, which the server trains, and phi (psi in the
paper), which clients train. `FedMatch` lacks its authors' learning rate
schedule, because the schedule needs labels at clients.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097
"""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
import pathlib
import types
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.fedmatch import helpers as helpers_lib
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import losses
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means
from tff_semifl.randomness import random_seeds

# The weight of the server's loss, lambda_s in FedMatch.
_SUPERVISED_WEIGHT = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaging(aggregators.Aggregation):
  """Averages updates; a client's weight is 1, or 0 without an update."""

  aggregator: means.Aggregator = aggregators.choose_without(
    differential_privacy='FedMatch weighs its updates, which is not private'
  )


class ClientLossWeights(NamedTuple):
  """The weights of the terms of a client's loss."""

  consistency: float = 1e-2  # lambda_ICCS, for the divergence from helpers.
  agreement: float = 1e-2  # For the cross-entropy with agreed labels.
  l1: float = 1e-5  # For the l1 norm of phi.
  l2: float = 10.0  # For the squared l2 norm of sigma - phi.


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatch(system.System):
  """FedMatch: disjoint learning, with models of similar clients as helpers."""

  usual = types.MappingProxyType(
    {'model': 'fedmatch_resnet', 'strong_augmentation': 'fedmatch'}
  )
  models = ('fedmatch_resnet',)
  measures_pseudo_labels = True
  chooses_statistics = False

  cohorts: training_settings.Cohorts = training_settings.Cohorts(
    clients_per_round=5
  )
  rounds: training_settings.Rounds = training_settings.Rounds(
    total_rounds=200, learning_rate=1e-3
  )
  local_training: training_settings.ClientEpochs = (
    training_settings.ClientEpochs(client_epochs=1.0, client_batch_size=100)
  )
  server: training_settings.ServerEpochs = training_settings.ServerEpochs(
    server_epochs=1.0, server_batch_size=100
  )
  confidence: training_settings.Confidence = training_settings.Confidence(
    confidence_threshold=0.75
  )
  num_helpers: int = settings.setting(
    2,
    'Number of helpers: other clients whose models a client receives for'
    ' labeling; H in FedMatch.',
    settings.AT_LEAST_1,
  )
  rounds_per_help: int = settings.setting(
    10,
    'Helpers are sent only in rounds whose number is a multiple of this.',
    settings.AT_LEAST_1,
  )
  client_loss_weights: ClientLossWeights = ClientLossWeights()
  averaging: _Averaging = _Averaging()

  def build(self, ingredients: system.Ingredients) -> system.Process:
    classifier = ingredients.classifier
    kernels = fedmatch_networks.find_parts(classifier.trainable_names)
    descent = tff.learning.optimizers.build_sgdm(self.rounds.learning_rate)
    of_server = optimizers.restrict(descent, kernels.sigma)
    of_clients = optimizers.restrict(descent, kernels.phi)
    aggregator = self.averaging.aggregator.build()
    parts = composition.Parts(
      classifier=classifier,
      seed=ingredients.seed,
      learning_rate_fn=lambda _: tf.constant(self.rounds.learning_rate),
      # The optimizers of server and clients start anew in each round.
      server_work=server_work.build_server_work(
        classifier,
        functools.partial(self.train_server, classifier, of_server),
        optimizer=of_server,
        keep_optimizer_state=False,
      ),
      client_work=helpers_lib.build_helped_work(
        classifier,
        lambda helpers: client_work.build_client_work(
          classifier,
          functools.partial(
            self.train_client, ingredients, of_clients, helpers
          ),
          optimizer=of_clients,
          max_update_norm_ratio=self.averaging.max_update_norm_ratio,
          return_given_labels=ingredients.returns_given_labels,
        ),
        ingredients.seed,
      ),
      aggregator=aggregators.create(
        aggregator, classifier.weights_type.trainable
      ),
    )
    return composition.build(parts, helpers_lib.fedmatch_round)

  def train_server(
    self,
    classifier: functional.ImageClassifier,
    optimizer: optimizers.Optimizer,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> training_loop.TrainingResult:
    """Trains sigma at the server, without shuffling or augmentation."""
    del context

    def loss(trainable, batch, epoch, batch_num, state):
      del epoch, batch_num, state
      images, labels = batch.examples
      model = weights._replace(trainable=trainable)
      output = training_loop.cross_entropy(
        classifier.train_logits(model, images), labels
      )
      return output._replace(loss=_SUPERVISED_WEIGHT * output.loss)

    return training_loop.TrainingLoop(
      optimizer=optimizer,
      num_epochs=self.server.server_epochs,
      batch_size=self.server.filled_batch_size,
      epoch_data_fn=lambda _: rows_lib.Rows((data['image'], data['label'])),
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state)

  def train_client(
    self,
    ingredients: system.Ingredients,
    optimizer: optimizers.Optimizer,
    helpers: tuple[tf.Tensor, ...],
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """Trains a client's phi, without shuffling.

    `helpers` are the stacked phi of other clients. The consistency term of the
    loss compares predictions of client and helpers. The agreement term is the
    cross-entropy of strongly augmented images with the majority class of client
    and helpers. Both terms use only images with confident predictions.
    """
    classifier, factors = ingredients.classifier, self.client_loss_weights
    kernels = fedmatch_networks.find_parts(classifier.trainable_names)
    num_images = tf.shape(data['image'])[0]
    node = federated_process.Node(context, data['client_id'])

    def epoch_data(epoch):
      strong = ingredients.strong_augmentation(
        data['image'], node.seed(random_seeds.Purpose.STRONG_VIEW, epoch)
      )
      return rows_lib.Rows((data['image'], strong, tf.range(num_images)))

    def loss(trainable, batch, epoch, batch_num, given):
      del epoch, batch_num
      images, strong, indices = batch.examples
      model = weights._replace(trainable=trainable)
      logits = classifier.train_logits(model, images)
      strong_logits = classifier.train_logits(model, strong)
      of_helpers = helpers_lib.predict(classifier, weights, helpers, images)
      confidences = pseudo_labels.from_logits(logits).confidences
      is_confident = confidences >= self.confidence.confidence_threshold
      labels = helpers_lib.agreed_labels(logits, of_helpers)
      divergences = losses.divergence_of_each(of_helpers, logits)
      # The mean over helpers and confident images; 0 without helpers.
      consistency = tf.math.divide_no_nan(
        helpers_lib.mean_of_counted(
          tf.reduce_sum(divergences, axis=0), is_confident
        ),
        tf.cast(tf.shape(of_helpers)[0], tf.float32),
      )
      agreement = helpers_lib.mean_of_counted(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, strong_logits),
        is_confident,
      )
      regularization = tf.add_n(
        [
          factors.l1 * tf.reduce_sum(tf.abs(phi))
          + factors.l2 * tf.reduce_sum(tf.square(sigma - phi))
          for sigma, phi in zip(
            kernels.select_sigma(trainable),
            kernels.select_phi(trainable),
            strict=True,
          )
        ]
      )
      return training_loop.BatchOutput(
        factors.consistency * consistency
        + factors.agreement * agreement
        + regularization,
        training_loop.count_correct(strong_logits, labels, is_confident),
        tf.reduce_sum(tf.cast(is_confident, tf.float32)),
        given.extend(pseudo_labels.give_at_once(indices, labels, is_confident)),
      )

    training = training_loop.TrainingLoop(
      optimizer=optimizer,
      num_epochs=self.local_training.client_epochs,
      batch_size=self.local_training.client_batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
    ).train(weights.trainable, optimizer_state, pseudo_labels.no_given_labels())
    sums = training.sums
    # The report divides by the number of confident images. With this factor the
    # result is the mean over all images.
    loss_sum = sums.loss * tf.math.divide_no_nan(
      sums.num_examples, sums.num_visited
    )
    return client_work.labeled_in_steps(
      training._replace(sums=sums._replace(loss=loss_sum)),
      num_images,
      training.state,
    )

  def create_memories(
    self,
    process: federated_process.FederatedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_kept: int,
  ) -> helpers_lib.Helpers:
    return helpers_lib.Helpers(
      process,
      folder / 'helpers',
      num_clients=num_clients,
      num_helpers=self.num_helpers,
      rounds_per_help=self.rounds_per_help,
      num_kept=num_kept,
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(
      self.server.count_steps(num_labeled),
      self.local_training.count_steps(client_sizes),
    )


def zero_second_half(gradient: tf.Tensor) -> tf.Tensor:
  """Zeroes the gradient of the second half of a kernel's outputs (last axis).

  The function reproduces a mistake in the code of SemiFL's authors.
  """
  num_outputs = gradient.shape[-1]
  is_first = tf.range(num_outputs) < num_outputs // 2
  return tf.where(is_first, gradient, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchAsInSemiFL(averaging.Alternating):
  """FedMatch as in SemiFL's tables: disjoint learning, without helpers."""

  usual = types.MappingProxyType({'model': 'decomposed_wide_resnet'})
  models = ('decomposed_wide_resnet',)

  client: method.Method = fix_mix.LabelEachBatch()
  reproduce_bugs: bool = settings.setting(
    True,
    "Whether to reproduce two mistakes of the code of SemiFL's authors: half of"
    ' the outputs of each kernel only decay at the server, and no node trains'
    ' normalization and classifier.',
  )

  def create_optimizers(
    self, classifier: functional.ImageClassifier
  ) -> averaging.OptimizerPair:
    """The clients' optimizer of phi, and the server's optimizer of sigma.

    Gradients are clipped by their norm over sigma, phi and all other weights.
    Steps are therefore shorter than those of plain kernels.
    """
    parts = fedmatch_networks.find_parts(classifier.trainable_names)
    of_clients, of_server = super().create_optimizers(classifier)
    if self.reproduce_bugs:
      return (
        optimizers.restrict(of_clients, parts.phi),
        optimizers.restrict(of_server, parts.sigma, zero_second_half),
      )
    # Clients and server train normalization and classifier, averaged like phi.
    return (
      optimizers.restrict(
        of_clients, [not is_sigma for is_sigma in parts.sigma]
      ),
      optimizers.restrict(of_server, [not is_phi for is_phi in parts.phi]),
    )
